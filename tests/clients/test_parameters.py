import pytest

from evalwright.clients.anthropic import AnthropicParameters
from evalwright.clients.llama.settings import LlamaParameters, LlamaSettings
from evalwright.clients.openai import ChatParameters
from evalwright.clients.openai_responses import ResponsesParameters
from evalwright.clients.parameters import Timeouts, reject_misspelled_parameters
from evalwright.errors import UsageError
from evalwright.generation_parameters import COMMON_PARAMETERS


def test_every_parameter_of_every_client_is_known() -> None:
    clients = (ChatParameters, ResponsesParameters, AnthropicParameters, LlamaParameters)
    fields = {
        name for known in (*clients, LlamaSettings, Timeouts) for name in known.__struct_fields__
    }

    assert fields - set(COMMON_PARAMETERS) == set()


@pytest.mark.parametrize("name", ["min_tokens", "stop_token_ids", "user", "extra.temprature", "x"])
def test_other_names_are_not_taken_for_misspelt_ones(name: str) -> None:
    reject_misspelled_parameters({name: 1}, model="openai/m")


def test_a_long_ending_makes_another_name() -> None:
    reject_misspelled_parameters({"reasoning_format": 1}, model="openai/m")
    with pytest.raises(UsageError, match="did you mean `reasoning`"):
        reject_misspelled_parameters({"reasonings": 1}, model="openai/m")
