# SPDX-License-Identifier: Apache-2.0
"""Every endpoint, parameter and error of the OpenAI API, with the `openai` package unmodified."""
import concurrent.futures
import json
import subprocess

import openai
import pytest

import locate
from server import Server

MODEL = locate.MODEL_NAME
ASK = [{"role": "user", "content": "Name three colours."}]
PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("api") / "data", "--alias", "colours") as running:
        yield running
        assert running.stop() == 0, running.output


def connect(server):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0, timeout=120)


@pytest.fixture(scope="module")
def client(server):
    with connect(server) as made:
        yield made


def chat(client, **options):
    return client.chat.completions.create(**{"model": MODEL, "messages": ASK, "max_tokens": 24,
                                             **options})


def complete(client, **options):
    return client.completions.create(**{"model": MODEL, "prompt": PROMPT, "max_tokens": 8,
                                        "temperature": 0, **options})


def post(server, path: str, body: dict, status: int = 200):
    got, _, answer = server.request("POST", path, body, key=server.key)
    assert got == status, answer
    return json.loads(answer)


def test_models_and_aliases(client):
    ids = [model.id for model in client.models.list()]
    assert ids == [MODEL, "colours"]
    assert client.models.retrieve("colours").root == MODEL
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("none")
    assert refused.value.code == "model_not_found"
    assert chat(client, model="colours", max_tokens=1).model == MODEL


def test_choices_differ_and_seeds_repeat(client):
    first = chat(client, n=3, seed=7)
    assert [choice.index for choice in first.choices] == [0, 1, 2]
    texts = [choice.message.content for choice in first.choices]
    assert len(set(texts)) == 3
    again = chat(client, n=3, seed=7)
    assert [choice.message.content for choice in again.choices] == texts
    assert chat(client, seed=7).choices[0].message.content == texts[0]
    assert first.usage.completion_tokens <= 72
    assert first.usage.prompt_tokens == again.usage.prompt_tokens < 60


def test_streamed_choices_are_those_of_the_whole_answer(client):
    whole = chat(client, n=2, seed=3)
    texts, reasons = ["", ""], [None, None]
    for chunk in chat(client, n=2, seed=3, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                assert reasons[choice.index] is None
                reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == [choice.finish_reason for choice in whole.choices]


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_are_those_of_the_text(client, stream):
    answer = chat(client, logprobs=True, top_logprobs=3, seed=1, temperature=1.5, stream=stream)
    if stream:
        chunks = [chunk.choices[0] for chunk in answer]
        text = "".join(choice.delta.content or "" for choice in chunks)
        entries = [entry for c in chunks if c.logprobs for entry in c.logprobs.content]
    else:
        text = answer.choices[0].message.content
        entries = answer.choices[0].logprobs.content
    assert b"".join(bytes(entry.bytes) for entry in entries).decode(errors="replace") == text
    for entry in entries:
        assert entry.logprob <= 0 and len(entry.top_logprobs) == 3
        ranked = [top.logprob for top in entry.top_logprobs]
        assert ranked == sorted(ranked, reverse=True) and ranked[0] >= entry.logprob


def test_bias_penalties_and_the_other_sampling_fields(server, client):
    word = post(server, "/tokenize", {"content": " yes"})["tokens"]
    assert len(word) == 1
    biased = chat(client, logit_bias={str(word[0]): 100}, max_tokens=5, temperature=0)
    assert biased.choices[0].message.content == " yes" * 5
    penalised = chat(client, logit_bias={str(word[0]): 100}, max_tokens=60, temperature=0,
                     frequency_penalty=2.0, presence_penalty=2.0)
    assert 0 < penalised.choices[0].message.content.count(" yes") < 60
    assert chat(client, extra_body={"bad_words": ["yes"]}, max_tokens=5, temperature=0,
                logit_bias={str(word[0]): 100}).choices[0].message.content.count(" yes") == 0
    for extra in ({"top_k": 1}, {"min_p": 1.0}, {"typical_p": 1e-6, "top_k": 1}):
        greedy = chat(client, temperature=0).choices[0].message.content
        assert chat(client, extra_body=extra).choices[0].message.content == greedy
    longer = chat(client, temperature=0, max_tokens=400, extra_body={"min_tokens": 300})
    assert longer.usage.completion_tokens >= 300
    assert chat(client, temperature=0, extra_body={"repetition_penalty": 1.5}).choices


def test_stops(client):
    whole = chat(client, temperature=0).choices[0].message.content
    stop = whole[len(whole) // 2:][:4]
    cut = chat(client, temperature=0, stop=["never", stop]).choices[0]
    assert cut.message.content == whole[:whole.index(stop)] and cut.finish_reason == "stop"
    assert cut.stop_reason == stop
    kept = chat(client, temperature=0, stop=stop,
                extra_body={"include_stop_str_in_output": True}).choices[0]
    assert kept.message.content == whole[:whole.index(stop) + len(stop)]
    streamed = chat(client, temperature=0, stop=stop, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in streamed) == cut.message.content


def test_stop_token_ids(server, client):
    tokens = complete(client, logprobs=0).choices[0].logprobs.tokens
    third = post(server, "/tokenize", {"content": tokens[2]})["tokens"][0]
    answer = complete(client, extra_body={"stop_token_ids": [third]}).choices[0]
    assert answer.stop_reason == third and answer.finish_reason == "stop"
    assert answer.text == "".join(tokens[:2])


def test_json_object_goes_with_stop_and_ignore_eos(client):
    messages = [{"role": "user", "content": "Answer with a JSON object with the key city."}]
    shared = {"messages": messages, "max_tokens": 200, "temperature": 0,
              "response_format": {"type": "json_object"}}
    plain = chat(client, **shared).choices[0]
    assert isinstance(json.loads(plain.message.content), dict)
    both = chat(client, **shared, stop="\n\n\n\n", extra_body={"ignore_eos": True}).choices[0]
    assert both.message.content == plain.message.content and both.finish_reason == "stop"


def test_continue_final_message_and_template_arguments(server, client):
    messages = [*ASK, {"role": "assistant", "content": "Red, green and"}]
    extra = {"continue_final_message": True, "add_generation_prompt": False}
    prompt = post(server, "/apply-template", {"messages": messages, **extra})["prompt"]
    assert prompt.endswith("Red, green and")
    plain = chat(client, messages=messages, temperature=0, extra_body=extra)
    echoed = chat(client, messages=messages, temperature=0, extra_body={**extra, "echo": True})
    assert (echoed.choices[0].message.content
            == "Red, green and" + plain.choices[0].message.content)
    tokens = post(server, "/tokenize", {"messages": messages, **extra})
    assert tokens["count"] == plain.usage.prompt_tokens


def test_usage_in_streams(client):
    chunks = list(chat(client, stream=True, stream_options={
        "include_usage": True, "continuous_usage_stats": True}))
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts == sorted(counts) and chunks[-1].choices == []
    assert all(chunk.usage is None for chunk in chat(client, stream=True))


def test_completion_prompts_of_every_form(server, client):
    one = complete(client)
    assert one.object == "text_completion" and "Paris" in one.choices[0].text
    ids = post(server, "/tokenize", {"prompt": PROMPT})["tokens"]
    for prompt in (ids, [PROMPT], [ids]):
        assert complete(client, prompt=prompt).choices[0].text == one.choices[0].text
    two = complete(client, prompt=[PROMPT, "Once upon a"], n=2)
    assert [choice.index for choice in two.choices] == [0, 1, 2, 3]
    assert two.choices[0].text == two.choices[1].text == one.choices[0].text
    assert two.usage.prompt_tokens == one.usage.prompt_tokens + 3
    assert complete(client, max_tokens=None).usage.completion_tokens == 16


def test_completion_echo_and_logprobs(client):
    scored = complete(client, echo=True, logprobs=2).choices[0]
    assert scored.text.startswith(PROMPT)
    columns = scored.logprobs
    assert "".join(columns.tokens) == scored.text
    assert columns.token_logprobs[0] is None and columns.token_logprobs[1] < 0
    for token, offset in zip(columns.tokens, columns.text_offset):
        assert scored.text[offset:].startswith(token)
    alone = complete(client, echo=True, logprobs=0, max_tokens=0)
    assert alone.choices[0].text == PROMPT
    assert alone.choices[0].logprobs.token_logprobs == columns.token_logprobs[:5]
    prompt = complete(client, extra_body={"prompt_logprobs": 0}).choices[0].prompt_logprobs
    assert [next(iter(p.values()))["logprob"] for p in prompt[1:]] == columns.token_logprobs[1:5]


def test_completion_best_of_and_stream(client):
    best = complete(client, temperature=1, best_of=4, n=1, seed=5, logprobs=0).choices[0]
    every = complete(client, temperature=1, n=4, seed=5, logprobs=0).choices
    mean = [sum(c.logprobs.token_logprobs) / len(c.logprobs.tokens) for c in every]
    assert best.text == every[mean.index(max(mean))].text
    streamed = "".join(chunk.choices[0].text for chunk in complete(client, stream=True, echo=True))
    assert streamed == PROMPT + complete(client).choices[0].text


@pytest.mark.parametrize("options, param", [
    ({"temperature": 3}, "temperature"), ({"n": 0}, "n"), ({"top_logprobs": 2}, "top_logprobs"),
    ({"logit_bias": {"x": 1}}, "logit_bias"), ({"logit_bias": {"99999999": 1}}, "logit_bias"),
    ({"stop": ["a"] * 5}, "stop"), ({"tools": [{"type": "function"}]}, "tools"),
    ({"store": True}, "store"), ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"response_format": {"type": "json_schema"}}, "response_format.type"),
    ({"max_tokens": 100_000}, "max_tokens"), ({"extra_body": {"min_p": 2}}, "min_p"),
    ({"extra_body": {"suffix": "x"}}, "suffix"), ({"messages": []}, "messages"),
])
def test_bad_values_are_400_and_named(client, options, param):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, **options)
    assert refused.value.param == param
    assert param.split(".")[0] in refused.value.message or "context" in refused.value.message


def test_completion_errors(client):
    for options, param in (({"suffix": "x"}, "suffix"), ({"prompt": []}, "prompt"),
                           ({"prompt": [10**6]}, "prompt"), ({"logprobs": 99}, "logprobs"),
                           ({"best_of": 2, "stream": True}, "best_of"),
                           ({"max_tokens": 0}, "max_tokens")):
        with pytest.raises(openai.BadRequestError) as refused:
            complete(client, **options)
        assert refused.value.param == param


def test_wrong_models_and_keys(server, client):
    for call in (chat, complete):
        with pytest.raises(openai.NotFoundError) as missing:
            call(client, model="none")
        assert missing.value.code == "model_not_found"
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError) as unknown:
            chat(stranger)
        assert unknown.value.code == "invalid_api_key"


def test_fields_without_effect_and_unknown_ones(client):
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=ASK, max_tokens=1, user="u", metadata={"a": "b"}, store=False,
        service_tier="auto", safety_identifier="s", prompt_cache_key="k",
        extra_body={"novelty": 1})
    assert raw.headers["x-o3-warning"] == "unknown fields were ignored: novelty"
    assert raw.parse().choices


def test_tokens_there_and_back(server):
    text = "Grüße, <|im_start|> 🐙"
    tokens = post(server, "/tokenize", {"content": text})["tokens"]
    assert post(server, "/detokenize", {"tokens": tokens})["content"] == text
    plain = post(server, "/tokenize", {"content": text, "parse_special": False})["tokens"]
    assert len(plain) > len(tokens)
    pieces = post(server, "/tokenize", {"content": "🐙", "with_pieces": True})["tokens"]
    assert all(isinstance(piece["piece"], (str, list)) for piece in pieces)


def test_seeds_repeat_after_a_restart_and_in_any_company(server, client, tmp_path):
    def ask(made, seed):
        options = {"temperature": 1.3, "seed": seed, "max_tokens": 20}
        if seed % 2:
            options |= {"presence_penalty": 1.0, "extra_body": {"min_p": 0.05}}
        return chat(made, **options).choices[0].message.content

    alone = [ask(client, seed) for seed in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda seed: ask(client, seed), range(8))) == alone
    with Server(tmp_path / "other") as other, connect(other) as made:
        assert [ask(made, seed) for seed in range(8)] == alone


def test_curl(server):
    def curl(*arguments):
        done = subprocess.run(["curl", "-sS", "--max-time", "60", "-H",
                               f"Authorization: Bearer {server.key}", *arguments],
                              capture_output=True, text=True, check=True)
        return done.stdout

    body = json.dumps({"model": MODEL, "messages": ASK, "max_tokens": 3, "stream": True})
    stream = curl("-N", f"{server.url}/v1/chat/completions", "--json", body)
    assert stream.endswith("data: [DONE]\n\n")
    assert json.loads(curl(f"{server.url}/health")) == {"status": "ok"}
    assert json.loads(curl(f"{server.url}/openapi.json"))["openapi"].startswith("3.")
    hint = json.loads(curl(f"{server.url}/v1/chat/completion", "--json", body))["error"]["message"]
    assert "Did you mean /v1/chat/completions?" in hint
