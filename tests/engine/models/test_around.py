import asyncio

from tests.engine.models.made import Says

from evalwright.engine.models.count import Counted, Counters


def test_a_wrapper_has_the_face_of_the_model_inside() -> None:
    wrapper = Counted(Says(), Counters())

    assert (wrapper.caveat, wrapper.fingerprint) == (Says.caveat, Says.fingerprint)


def test_closing_a_wrapper_closes_the_model_inside() -> None:
    model = Says()

    asyncio.run(Counted(Counted(model, Counters()), Counters()).close())

    assert model.closed
