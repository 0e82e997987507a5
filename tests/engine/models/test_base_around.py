import asyncio

from tests.engine.models.made import Says

from evalwright.engine.models.base import CountedModel, Counters


def test_a_wrapper_has_the_face_of_the_model_inside() -> None:
    wrapper = CountedModel(Says(), Counters())

    assert (wrapper.caveat, wrapper.fingerprint) == (Says.caveat, Says.fingerprint)


def test_closing_a_wrapper_closes_the_model_inside() -> None:
    model = Says()

    asyncio.run(CountedModel(CountedModel(model, Counters()), Counters()).close())

    assert model.closed
