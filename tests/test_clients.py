# SPDX-License-Identifier: Apache-2.0
"""Other people's clients, unmodified: one answer and one stream each (requirements-clients.txt)."""
import os

import pytest

import locate

MODEL = locate.MODEL_NAME
QUESTION = "Say hello."
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no fetching of price lists


def test_litellm(server):
    litellm = pytest.importorskip("litellm")
    shared = {"model": f"openai/{MODEL}", "api_base": f"{server.url}/v1", "api_key": server.key,
              "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 16,
              "temperature": 0}
    whole = litellm.completion(**shared)
    assert whole.choices[0].finish_reason in ("stop", "length")
    chunks = litellm.completion(**shared, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content != ""
    assert litellm.text_completion(model=f"text-completion-openai/{MODEL}", prompt="One, two,",
                                   api_base=shared["api_base"], api_key=server.key,
                                   max_tokens=4).choices[0].text


def test_langchain(server):
    langchain = pytest.importorskip("langchain_openai")
    chat = langchain.ChatOpenAI(model=MODEL, base_url=f"{server.url}/v1", api_key=server.key,
                                max_tokens=16, temperature=0, max_retries=0)
    whole = chat.invoke(QUESTION)
    assert "".join(chunk.content for chunk in chat.stream(QUESTION)) == whole.content != ""
    assert whole.usage_metadata["output_tokens"] > 0


def test_llama_index(server):
    like = pytest.importorskip("llama_index.llms.openai_like")
    chat = like.OpenAILike(model=MODEL, api_base=f"{server.url}/v1", api_key=server.key,
                           is_chat_model=True, max_tokens=16, temperature=0, max_retries=0)
    from llama_index.core.llms import ChatMessage
    messages = [ChatMessage(role="user", content=QUESTION)]
    whole = chat.chat(messages).message.content
    assert "".join(chunk.delta or "" for chunk in chat.stream_chat(messages)) == whole != ""
    text = like.OpenAILike(model=MODEL, api_base=f"{server.url}/v1", api_key=server.key,
                           is_chat_model=False, max_tokens=8, temperature=0)
    assert text.complete("One, two,").text
