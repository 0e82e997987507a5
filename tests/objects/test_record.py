import copy
import json
import pickle

import pytest

from evalwright.objects.record import Record, changes, plain


def test_every_level_is_read_by_key_and_by_attribute() -> None:
    record = Record({"a": {"b": [{"c": 1}]}})

    assert record.a.b[0].c == 1
    assert record["a"]["b"][0]["c"] == 1
    assert record.a["b"][0].get("c") == 1
    assert record.get("z", 7) == 7


def test_what_is_inside_is_wrapped_once_so_that_a_change_stays() -> None:
    record = Record({"a": {"b": 1}})

    record.a.b = 2
    record.new = 3

    assert record == {"a": {"b": 2}, "new": 3}


def test_a_record_is_a_dict_to_everyone_else() -> None:
    record = Record({"a": {"b": [1]}, "c": None})

    assert isinstance(record, dict)
    assert json.loads(json.dumps(record)) == record == {"a": {"b": [1]}, "c": None}
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301 - our own
    assert [type(value) for value in Record({"a": {}}).values()] == [Record]
    assert [type(value) for _, value in Record({"a": {}}).items()] == [Record]


def test_a_name_that_is_not_there_is_said_beside_those_that_are() -> None:
    with pytest.raises(AttributeError, match="expected one of `a`, got `b`"):
        _ = Record(a=1).b
    with pytest.raises(KeyError, match="b"):
        _ = Record(a=1)["b"]


def test_plain_leaves_no_class_of_ours() -> None:
    value = plain({"a": Record(b=[Record(c=(1, 2))])})

    assert value == {"a": {"b": [{"c": [1, 2]}]}}
    assert type(value["a"]) is dict
    assert type(value["a"]["b"][0]) is dict
    assert type(Record(a={"b": 1}).to_json()["a"]) is dict
    assert Record(a=1).model_dump() == {"a": 1}


def test_a_method_that_changes_its_object_is_marked_for_the_sandbox_of_templates() -> None:
    assert changes(lambda: None).alters_data is True
