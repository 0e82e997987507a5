"""Choose the sandbox that runs code from models."""

from collections.abc import Callable

from evalwright.errors import EvalwrightError, UsageError
from evalwright.plan.manifest import SandboxFacts
from evalwright.plan.options import RunOptions
from evalwright.ports import Sandbox
from evalwright.registry import load


def open_sandbox(options: RunOptions, *, tell: Callable[[str], None]) -> Sandbox:
    """Return a sandbox that isolates; a plain child process if there is none and on request."""
    # A run without code must not import the sandbox.
    from evalwright.sandbox.tiers import NoTier

    packages = sandbox_packages(options)
    if options.require_verified and options.in_process_targets:
        raise UsageError(
            "`--require-verified` and `--in-process-targets` cannot be combined",
            hint="targets that are judged in the program's own process are never verified",
        )
    try:
        sandbox: Sandbox = load("sandboxes", "jailed")(
            verdicts="plain" if options.in_process_targets else "both",
            packages=packages,
            only_verified=options.require_verified,
        )
    except NoTier as reason:
        if packages:
            raise EvalwrightError(
                f"`--sandbox-package` needs a sandbox that isolates programs: {reason.message}"
            ) from reason
        if options.require_verified:
            raise EvalwrightError(
                f"`--require-verified` needs a sandbox that isolates programs: {reason.message}"
            ) from reason
        if not options.unsafe_code_exec:
            raise EvalwrightError(
                f"no sandbox that isolates programs is available: {reason.message}",
                hint="`evalwright doctor` shows how to get one; `--unsafe-code-exec` runs "
                "programs in a plain child process with your permissions: only for code you trust",
            ) from reason
        tell(
            "warning: programs run in a plain child process with your permissions: "
            f"{reason.message}"
        )
        unsafe: Sandbox = load("sandboxes", "unsafe")()
        return unsafe
    if options.unsafe_code_exec:
        tell(f"`--unsafe-code-exec` is not needed here: programs are isolated ({sandbox.tier})")
    return sandbox


def sandbox_packages(options: RunOptions) -> tuple[str, ...]:
    """Return what programs may import besides the standard library: each once, sorted."""
    return tuple(sorted(set(options.sandbox_packages)))


def describe_sandbox(sandbox: Sandbox | None, packages: tuple[str, ...]) -> SandboxFacts | None:
    """Return how code is isolated, for the manifest and the report."""
    if sandbox is None:
        return None
    return SandboxFacts(
        tier=sandbox.tier,
        verified=sandbox.verified,
        packages=list(packages),
        only_verified=sandbox.only_verified,
    )
