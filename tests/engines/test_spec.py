"""Engine SPECs of the command line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.engines.engine_spec import parse, split
from replayer.errors import PlanError


def test_a_url_with_model_key_and_sampling():
    spec = parse('a=http://h:8000/v1,kind=vllm,model=m,api_key_env=KEY,temperature=0.9,stop=["x,y","z"]')
    assert (spec.name, spec.url, spec.launch, spec.kind) == ("a", "http://h:8000/v1", None, "vllm")
    assert (spec.model, spec.api_key_env) == ("m", "KEY")
    assert spec.sampling == {"temperature": 0.9, "stop": ["x,y", "z"]}


def test_extra_fields_are_kept_apart():
    spec = parse('a=http://h,extra.chat_template_kwargs={"enable_thinking": false},sampling.top_k=3')
    assert spec.extra == {"chat_template_kwargs": {"enable_thinking": False}}
    assert spec.sampling == {"top_k": 3}


def test_a_simulated_engine_takes_settings_faults_and_sampling():
    spec = parse("s=simulated,kind=sglang,tok_s=100,fault=unknown_tool@0.1,fault=collapse:at=9,temperature=0")
    assert spec.launch == "simulated" and spec.url is None
    assert spec.options == {"kind": "sglang", "tok_s": 100, "fault": ["unknown_tool@0.1", "collapse:at=9"]}
    assert spec.sampling == {"temperature": 0}


def test_an_embedded_engine_takes_its_own_settings():
    spec = parse("e=embedded,ctx=4096,cache_type_k=q8_0,repeat_penalty=1.1,model=/models/x.gguf")
    assert spec.launch == "embedded" and spec.model == "/models/x.gguf"
    assert spec.options == {"ctx": 4096, "cache_type_k": "q8_0"}
    assert spec.sampling == {"repeat_penalty": 1.1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "is not NAME=URL"),
        ("a=", "is not NAME=URL"),
        ("a=simulatd", "did you mean 'simulated'"),
        ("a=http://h,kind=vlm", "did you mean 'vllm'"),
        ("a=http://h,stop=[1", "not closed"),
        ("a=http://h,temperature", "is not key=value"),
        ("a=simulated,tok_ss=3", "did you mean 'tok_s'"),
    ],
)
def test_a_wrong_spec_is_told_in_one_sentence(text, words):
    with pytest.raises(PlanError, match=words) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@settings(max_examples=80)
@given(st.lists(st.text(st.characters(exclude_characters='[]{}()",', exclude_categories=["Cs"])), min_size=1))
def test_splitting_loses_nothing(parts):
    assert split(",".join(parts), "x") == parts
