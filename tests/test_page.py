# SPDX-License-Identifier: Apache-2.0
"""The chat page from the real server, with the real model, in a browser."""
import re

import pytest
from selenium.webdriver.common.keys import Keys

import browser
import locate
from chat_page import ChatPage
from fakes.chat_server import asset_files, security_policy

PROMPT_TOKENS = ('o3_tokens_total{kind="prompt"}', 'o3_tokens_total{kind="cached"}')
LONG = "Tell me a long story about a lighthouse keeper and the sea."


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    started = browser.start(str(tmp_path_factory.mktemp("profile")))
    yield started
    started.quit()


@pytest.fixture
def page(driver, server):
    browser.resize(driver, 1280, 800)
    browser.prefer(driver, dark=False)
    browser.console_problems(driver)
    opened = ChatPage(driver).open_ready(server.link)
    if opened.all(".message"):
        opened.find("#new-chat").click()
    # By script: the test before may have left the panel closed (a narrow window closes it).
    driver.execute_script("document.getElementById('settings-reset').click()")
    opened.change("max_tokens", "60")  # enough to see, and quick
    opened.find("#prompt").click()
    return opened


def shot(page, name: str) -> None:
    page.driver.save_screenshot(str(locate.artifacts() / f"page-{name}.png"))


def answers_without_end(page) -> None:
    """From now on, until the page is loaded anew, answers go on until they are stopped."""
    page.change("max_tokens", "6000")
    page.driver.execute_script("""
        const send = window.fetch;
        window.fetch = (url, options) => {
          if (options && options.body) {
            options = {...options, body: JSON.stringify({...JSON.parse(options.body), ignore_eos: true})};
          }
          return send(url, options);
        };""")


def test_every_file_is_served_as_written_under_the_policy(server):
    for path, file in asset_files().items():
        status, headers, body = server.request("GET", path)
        assert status == 200, path
        assert body == file.read_bytes(), path
        assert headers["Content-Security-Policy"] == security_policy(), path
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert server.request("GET", path, headers={"If-None-Match": headers["ETag"]})[0] == 304
    assert server.request("GET", "/page/../keys.json")[0] in (400, 404)
    assert server.request("GET", "/page/")[0] == 404


def test_answers(page):
    page.hosts()
    page.change("temperature", "2")  # so that it does not end after a word or two
    page.change("max_tokens", "200")
    assert len(page.ask(LONG)) > 40  # what it says is the model's affair
    # The rate is left out of very short answers.
    told = re.fullmatch(r"(?:(\S+) tokens/s · )?first token (\S+) s · (\d+) tokens.*", page.stats)
    assert told, page.stats
    assert float(told.group(2)) < 10 and int(told.group(3)) > 3
    assert page.find("#connection").text == locate.MODEL_NAME
    shot(page, "light")
    browser.prefer(page.driver, dark=True)
    shot(page, "dark")
    browser.resize(page.driver, 390, 800)
    shot(page, "dark-narrow")
    assert browser.console_problems(page.driver) == []
    assert len(page.hosts()) == 1


def test_text_grows_and_stop_frees_the_server(page, server):
    answers_without_end(page)
    page.send(LONG)
    page.until_answer_has(20)
    early = page.answer
    assert server.metrics()["o3_requests_running"] == 1
    page.find("#stop").click()
    assert page.answer.startswith(early)
    page.until_idle(2)
    server.await_metric("o3_requests_running", 0, 2)
    server.await_metric("o3_kv_blocks_used", 0, 2)
    assert page.note.endswith("Stopped.")


def test_conversation_is_remembered(page, server):
    """The second question travels with the first and its answer: its prompt is longer than both."""
    page.change("max_tokens", "12")
    def prompt_tokens() -> float:
        samples = server.metrics()
        return sum(samples[name] for name in PROMPT_TOKENS)

    before = prompt_tokens()
    page.ask("My name is Ada. Remember it.")
    between = prompt_tokens()
    page.ask("What is my name?")
    assert prompt_tokens() - between > between - before + 5


def test_error_of_the_server_is_shown(page):
    page.driver.execute_script(
        "document.getElementById('prompt').value = 'one two three four '.repeat(3000)")
    page.press(" ")
    page.press(Keys.ENTER)
    page.until_idle()
    assert "8192" in page.error.replace(",", "")
    shot(page, "error")


def test_keyboard_alone(page):
    assert page.focused == "prompt"
    page.press("Say hello.", Keys.ENTER)
    page.until_idle()
    assert page.answer
    answers_without_end(page)
    page.press(LONG, Keys.ENTER)
    page.until_answer_has(20)
    page.press(Keys.ESCAPE)
    page.until_idle(2)
    assert page.focused == "prompt"
    for _ in range(30):
        page.press(Keys.TAB)
        if page.focused == "new-chat":
            break
    page.press(Keys.ENTER)
    assert page.all(".message") == []


def test_without_the_link(page, server):
    page.driver.execute_script("sessionStorage.clear()")
    page.open(f"{server.url}/")
    page.until(lambda: page.shown("#access"), "access panel")
    shot(page, "access")
    page.press(server.key, Keys.ENTER)
    page.until(lambda: page.state == "ready", "a connection with the API key")
    assert server.key not in page.driver.current_url
