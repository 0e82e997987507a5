"""The nouns that travel between rooms.

    TaskSpec    one record of contract A      spec makes them
    Issue       one mistake in a document     spec makes them
    Sample      one question, or one row      plan makes them
    Request     what a model is asked         solvers make them
    Completion  what a model answered         clients make them
    Trace       one solved sample             solvers make them
    Program     code to be judged             scorers make them
    Execution   what became of it             sandboxes make them
    Score       one judgement                 scorers make them
    Failure     what broke, and where         the engine makes them
    Outcome     all of that, for one job      the engine makes them
    Part        one of several samples of a job  the engine makes them
    Run         one execution of a plan       api makes them
    Row         the scalars of an outcome     stores make them

All are frozen: a room returns a new noun, it never edits one it was handed.
"""

from collections.abc import Callable, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import asdict

from evalwright.vocabulary import DEFAULT_TIMEOUT_S, Category, MetricName, PostProcess

Stage = Literal["configuration", "dataset", "solver", "score", "metric", "action"]
Finish = Literal["stop", "length", "tool_calls", "other"]
ExecutionOutcome = Literal["pass", "assertion_fail", "syntax_error", "timeout", "error", "refused"]
RunStatus = Literal["running", "finished", "finished_with_failures", "stopped", "failed"]
MLTask = Literal["chat_completion", "embeddings", "custom"]
if TYPE_CHECKING:
    Json = object
    """A JSON value from data, a model or an author. A type checker asks to narrow it."""
    JsonObject = Mapping[str, object]
else:
    Json = Any  # msgspec does not look at it
    JsonObject = dict[str, Any]


class NoExamples(tuple["Example", ...]):
    """Equal to `()`: the examples of a record without the field, as opposed to an empty list."""

    __slots__ = ()


class NoMetadata(dict[str, Json]):
    """Equal to `{}`: the metadata of a record without the field, as opposed to an empty object."""

    __slots__ = ()


class Example(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One few-shot example of a record."""

    prompt: str
    completion: str


class TaskSpec(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One validated task record. Its fields are the record's keys."""

    task_id: str
    category: Category
    prompt: str
    targets: tuple[str, ...]
    metric_name: MetricName
    post_process: PostProcess
    few_shot_examples: tuple[Example, ...] = NoExamples()
    metadata: dict[str, Json] = field(default_factory=NoMetadata)

    @property
    def timeout_s(self) -> float:
        """Seconds that a code_exec candidate may take."""
        return float(cast("float", self.metadata.get("timeout_s", DEFAULT_TIMEOUT_S)))

    @property
    def samples(self) -> int:
        """Number of generations per sample."""
        return int(cast("int", self.metadata.get("samples", 1)))


class OtherProblem(Struct, frozen=True, kw_only=True):
    """Another broken rule of a record that already has an issue."""

    column: int | None = None
    rule: str
    field: str | None = None
    detail: str


class Issue(Struct, frozen=True, kw_only=True):
    """One problem at one location in a record, a task document or a policy."""

    file: str = ""
    """The file name used in messages; empty if the record is not from a file."""
    line: int
    column: int | None = None
    """Column in characters, starting at 1; None if the problem has no single location."""
    rule: str
    field: str | None = None
    """A record's key, or a dotted path such as `definition.scorers[0].ground_truth`."""
    task_id: str | None = None
    detail: str
    """What was expected and what was found, on one line."""
    raw: str = ""
    """The offending line, truncated to 500 characters."""
    hint: str = ""
    """What to write instead, on one line."""
    level: Literal["error", "warning"] = "error"
    also: tuple[OtherProblem, ...] = ()
    """Other problems in the same record; error counts do not include these."""

    @property
    def message(self) -> str:
        """The detail and the hint."""
        return f"{self.detail}; {self.hint}" if self.hint else self.detail

    def to_json(self) -> dict[str, Any]:
        """The fields that `validate --json` publishes."""
        return {
            "line": self.line,
            "column": self.column,
            "rule": self.rule,
            "field": self.field,
            "task_id": self.task_id,
            "detail": self.message,
            "raw": self.raw,
            "also": [asdict(problem) for problem in self.also],
        }


class Called(Struct, frozen=True):
    """A function and its arguments, which are JSON in a string."""

    name: str
    arguments: str


class ToolCall(Struct, frozen=True):
    """A function that a model asks to have called, in the format of chat APIs."""

    id: str
    function: Called
    type: str = "function"


class Message(Struct, frozen=True, omit_defaults=True):
    """One turn of a conversation. A message with the role `tool` contains a tool call's result."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    file_ids: tuple[str, ...] = ()
    """Files stored by the provider, sent with the content."""


class Usage(Struct, frozen=True):
    """Tokens, requests and cost. `cost` is None if a price is unknown; it is never estimated."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; its cost is unknown if either cost is."""
        known = self.cost is not None and other.cost is not None
        return Usage(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )


NOTHING = Usage(cost=0.0)
"""Usage without a request: its cost is known to be 0."""


class Sample(Struct, frozen=True):
    """One question. `data` is the record itself in contract A, the row (a dict) in contract B."""

    id: str
    data: Any


class JudgedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a scorer asks a model about. In a recording, only what is set must match."""

    task: str | None = None
    model: str | None = None
    """The model that gave the answer; empty in tasks without a model."""
    scorer: str | None = None
    """The key of the scorer that asks."""
    answer: str | None = None
    """The text of the answer."""
    shown_first: Literal["answer", "opponent"] | None = None
    """Of two answers, the one that is shown first."""
    prompt: str | None = None
    """The text of the last message that the judge is sent."""


class Request(Struct, frozen=True, kw_only=True):
    """One model call. `sample` is for scripted models and logs; no client sends it."""

    messages: tuple[Message, ...] = ()
    sample: Sample
    trial: int = 0
    task: MLTask = "chat_completion"
    input: Any = None
    """JSON. For chat: additional request keys, such as `response_format`. For other tasks, which
    have no messages: the whole request, such as strings to embed."""
    takes_all: bool = False
    """Whether empty answers and refusals count as answers; otherwise they are failures."""
    given: tuple[str, ...] = ()
    """Answers whose likelihood the model computes instead of generating an answer; without
    messages, whole documents. Only for models that can compute likelihoods (`ports.weighs`)."""
    message_fields: tuple[tuple[int, dict[str, Any]], ...] = ()
    """Other message fields, such as `session_id`, by message index. They are sent back to endpoints
    that a document declares, but not to providers with their own protocol."""
    judged: JudgedAnswer | None = None
    """What a scorer asks about, for recorded judges; no client sends it. None for answers."""


class ModelOptions(Struct, frozen=True, kw_only=True):
    """Options for a client when it connects."""

    parameters: dict[str, Any] = {}
    """Generation parameters: `temperature`, `max_tokens`, `seed`, `stop`…"""
    environment: Mapping[str, str] = {}
    """Where keys and base URLs are looked up."""
    provider: str = ""
    """The part before the slash, for a client that serves several providers."""
    base_url: str = ""
    """The address in the model's name; empty if the environment or the provider sets it."""
    tell: Callable[[str], None] = lambda _: None
    """Receives messages about slow steps."""
    keeps_bodies: bool = False
    """Whether completions contain the bodies of the request and the reply, for an API that has
    them. They double what is stored."""


class Completion(Struct, frozen=True, kw_only=True):
    """A model's answer, unchanged."""

    text: str
    usage: Usage = Usage()
    finish: Finish = "stop"
    logprobs: tuple[float, ...] | None = None
    """Natural log-probability of each answer token; None if the model does not return
    log-probabilities."""
    output: Any = None
    """JSON, if the answer is more than text: `{"embeddings": [[…]]}`, the result of a custom task,
    or a chat completion with references or tool calls. None if the answer is only text."""
    bodies: tuple[str, str] | None = None
    """The request and response bodies, if the client keeps them."""
    given: tuple[tuple[float, ...], ...] = ()
    """For each answer in the request, the log-probability of each of its tokens."""


class Trace(Struct, frozen=True, kw_only=True):
    """One solved sample: prompt, output and cost."""

    input: str
    output: str
    post_processed: str
    usage: Usage = Usage()
    latency_s: float = 0.0
    finish: Finish = "stop"
    nll: float | None = None
    """Negative log-likelihood of the answer; None if the model returns no log-probabilities."""
    nll_tokens: int = 0
    confidence: float | None = None
    """exp of the mean token log-probability of the answer; if it was chosen among options, its
    share of their likelihoods."""
    options: dict[str, float] = {}
    """Log-likelihood of each option, if the answer was chosen by likelihood."""
    conversation: dict[str, Any] = {}
    """Contract B: the whole conversation as JSON; `objects.SolverTrace.from_json` reads it."""


class Program(Struct, frozen=True, kw_only=True):
    """A candidate, and the targets it is tested against."""

    source: str
    targets: tuple[str, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S


class Execution(Struct, frozen=True, kw_only=True):
    """The result of running a program."""

    outcome: ExecutionOutcome
    targets: tuple[bool, ...]
    """One verdict per target, in order; all false unless the evaluation completed."""
    verified: bool = False
    """Whether every target that passed was confirmed by a process that the program cannot reach."""
    detail: str = ""
    reason: str = ""
    """Why it is not verified; empty if it is."""
    wall_clock: bool = False
    """Whether it is a timeout with little CPU time, twice: it waits, or the machine is busy."""
    output: str = ""
    duration_s: float = 0.0


class Score(Struct, frozen=True, kw_only=True):
    """One score: named values and the reason for them."""

    values: JsonObject
    """Numbers and booleans for task records; any JSON for projects."""
    correct: bool | None = None
    """Whether the answer is right, for calibration and pass@k; None if this does not apply."""
    reason: str = ""
    """Why the score has this value, in words; empty if no explanation is needed."""
    metadata: JsonObject = {}


SELF_REPORT = "$self_report"
"""Metadata key of a score that is the model's stated confidence in its own answer."""


def find_self_report(scores: Mapping[str, Score]) -> Score | None:
    """Return the score that holds the model's stated confidence (`--confidence self`)."""
    return next((score for score in scores.values() if SELF_REPORT in score.metadata), None)


def first_number(values: Mapping[str, Json]) -> float | None:
    """Return the first value, if it is a number and not NaN."""
    for value in values.values():
        if not isinstance(value, float | int):
            return None
        try:
            number = float(value)
        except OverflowError:  # an integer that no column holds
            return None
        return None if isnan(number) else number
    return None


def without_self_report(scores: Mapping[str, Score]) -> dict[str, Score]:
    """Return the scores that judge the answer."""
    return {name: score for name, score in scores.items() if SELF_REPORT not in score.metadata}


class Failure(Struct, frozen=True, kw_only=True):
    """An error in one stage. A failure is never a score."""

    stage: Stage
    type: str
    message: str
    hint: str = ""
    attempts: int = 1
    rule: str = ""
    """The rule that a judge's reply broke; empty for other failures."""


class Action(Struct, frozen=True, kw_only=True):
    """What a rule did to a sample."""

    action: str
    rule_key: str


class Part(Struct, frozen=True, kw_only=True):
    """One of the samples that a postprocessor made from one."""

    sample: dict[str, Json]
    trace: Trace | None = None
    scores: dict[str, Score] = {}
    actions: tuple[Action, ...] = ()
    """The rules that excluded it from the metrics."""


class Outcome(Struct, frozen=True, kw_only=True):
    """One job's result: its `scores`, and the first `failure` if something failed.

    Without an answer, there are no scores. A scorer that failed has no score.
    """

    task: str
    model: str
    sample_id: str
    trial: int = 0
    group: str = ""
    """The group in tables; for task records, the category."""
    trace: Trace | None = None
    scores: dict[str, Score] = {}
    failure: Failure | None = None
    ordinal: int = 0
    """The sample's position in its task, starting at 0."""
    sample: dict[str, Json] = {}
    """For projects, the row. Task records are not stored here; they are read from their file."""
    solve_key: str = ""
    """Hash of everything that the trace depends on; empty if nothing is stored."""
    score_keys: dict[str, str] = {}
    """Hash of everything that each scorer's score depends on."""
    others: dict[str, Usage] = {}
    """Usage per model: other models, and the evaluated model if a scorer queried it."""
    parts: tuple[Part, ...] = ()
    """The samples that a postprocessor made from this one. If there are any, `scores` is empty."""
    actions: tuple[Action, ...] = ()
    whole: dict[str, Score] = {}
    """Scores over all trials, from an imported log; stored with the sample's first trial."""

    @property
    def output(self) -> str:
        """The text of the answer; empty if there is none."""
        return self.trace.output if self.trace else ""

    @property
    def score(self) -> float | None:
        """The first number of the first score; None if there is none."""
        return next((first_number(score.values) for score in self.scores.values()), None)

    @property
    def is_wrong(self) -> bool:
        """Whether any score marks the answer as wrong, by its verdict or by its first boolean."""
        judged = (self.scores, *(part.scores for part in self.parts))
        return any(
            score.correct is False or _first_truth_value(score.values) is False
            for scores in judged
            for score in scores.values()
        )


def _first_truth_value(values: Mapping[str, Json]) -> bool | None:
    return next((value for value in values.values() if isinstance(value, bool)), None)


class Run(Struct, frozen=True, kw_only=True):
    """One execution of a plan, as stored."""

    id: str
    created: str
    """ISO 8601, in UTC."""
    updated: str
    status: RunStatus
    plan_key: str
    """Hash of the plan: a run is resumed only with the plan that started it."""
    parent: str | None = None
    """The run whose outputs this run scores again."""
    manifest: dict[str, Any] = {}
    """Facts for the report that the outcomes do not have."""


CONTAINS_TARGET = "contains_target"
"""Metadata key of a score: a wrong answer contains the target."""


class Row(Struct, frozen=True, gc=False):
    """The scalars of one outcome, for reports and lists; read without decoding the outcome."""

    task: str
    model: str
    sample_id: str
    ordinal: int
    trial: int
    group: str
    failure_stage: str | None
    failure_type: str | None
    score: float | None
    """The first value of the first score; None if there is none, or if it is NaN."""
    correct: bool | None
    confidence: float | None
    nll: float | None
    nll_tokens: int
    finish: str
    """Empty if there is no trace."""
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    latency_s: float
