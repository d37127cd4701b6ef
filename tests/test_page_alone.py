# SPDX-License-Identifier: Apache-2.0
"""The chat page against a scripted server: what a real one does seldom, or never twice."""
import json
import time

import pytest
from selenium.webdriver.common.keys import Keys

import browser
from chat_page import ChatPage
from fakes import chat_server
from fakes.chat_server import DONE, TOKEN, FakeServer, Refusal, chunk


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    started = browser.start(str(tmp_path_factory.mktemp("profile")))
    yield started
    started.quit()


@pytest.fixture
def page(driver):
    browser.resize(driver, 1280, 800)
    browser.prefer(driver, dark=False)
    browser.console_problems(driver)
    return ChatPage(driver)


def serve(page, script=None, **options):
    """A fake whose page is open and connected; each has a port, so an origin, of its own."""
    fake = FakeServer(script, **options).__enter__()
    page.open_ready(fake.link)
    return fake


def chats(fake):
    return [r for r in fake.requests if r["path"] == "/v1/chat/completions"]


def script_of(*pieces):
    return lambda body: iter(pieces)


# --- Access -----------------------------------------------------------------------------------

def test_token_leaves_the_address_and_travels_as_a_header(page):
    fake = serve(page, lambda body: chat_server.answer("Hello there."))
    assert page.driver.current_url == fake.url
    assert page.driver.execute_script("return history.length") <= 10
    assert page.storage("session")["o3.secret"] == TOKEN
    assert TOKEN not in json.dumps(page.storage("local"))
    assert page.ask("Hi") == "Hello there."
    assert chats(fake)[0]["headers"]["Authorization"] == f"Bearer {TOKEN}"
    assert all(TOKEN not in request["path"] for request in fake.requests)
    assert all("Cookie" not in request["headers"] for request in fake.requests)
    page.driver.refresh()  # the tab still has it
    page.until(lambda: page.state == "ready", "a connection after a reload")


def test_without_a_token_it_says_how_to_get_one(page):
    with FakeServer() as fake:
        page.open(fake.url)
        page.until(lambda: page.shown("#access"), "access panel")
        assert "o3 serve" in page.text and "#token=" in page.text
        assert page.focused == "access-secret"
        assert not page.shown("#prompt")
        page.press("wrong", Keys.ENTER)
        page.until(lambda: "not valid" in page.text, "reason")
        page.find("#access-secret").clear()
        page.press(f"  {fake.link}\n")
        page.until(lambda: page.state == "ready", "a connection")
        assert page.focused == "prompt"
        assert page.find("#access-secret").get_attribute("value") == ""


def test_a_typed_key_with_strange_characters_is_not_sent(page):
    with FakeServer() as fake:
        page.open(fake.url)
        page.until(lambda: page.shown("#access"), "access panel")
        before = len(fake.requests)
        page.press("o3-ключ", Keys.ENTER)
        page.until(lambda: "neither" in page.text, "reason")
        assert len(fake.requests) == before


def test_a_server_without_keys_needs_none(page):
    with FakeServer(needs_key=False) as fake:
        page.open(fake.url)
        page.until(lambda: page.state == "ready", "a connection")
        assert page.ask("Hi") == "Hello."
        assert "Authorization" not in chats(fake)[0]["headers"]


def test_a_new_link_in_the_same_tab_is_taken(page):
    with FakeServer() as fake:
        page.open(f"{fake.url}#token=old")
        page.until(lambda: "not valid" in page.text, "reason")
        page.driver.get(fake.link)  # only the fragment differs: no load
        page.until(lambda: page.state == "ready", "a connection")
        assert page.driver.current_url == fake.url


def test_access_lost_in_a_conversation_comes_back(page):
    fake = serve(page)
    page.ask("Hi")
    page.driver.execute_script("sessionStorage.setItem('o3.secret', 'stale')")
    page.driver.refresh()
    page.until(lambda: page.shown("#access"), "access panel")
    assert "Hello." in page.text  # the conversation is still there
    page.press(TOKEN, Keys.ENTER)
    page.until(lambda: page.state == "ready", "a connection")
    assert page.ask("Again") == "Hello."
    assert len(chats(fake)[-1]["body"]["messages"]) == 3


# --- Streaming --------------------------------------------------------------------------------

TEXT = "Grüße, 世界! 👋🏽 ½ – “quoted”"


def test_bytes_may_split_anywhere(page):
    stream = b"\xef\xbb\xbf: comment\r\n\r\n" + chunk(TEXT) + chunk(finish="stop") + DONE

    def script(body):
        for i in range(len(stream)):
            yield stream[i:i + 1]
            if i % 16 == 0:
                time.sleep(0.001)
    serve(page, script)
    assert page.ask("Hi") == TEXT


def parse(page, pieces):
    """What the page's own parser makes of text in these pieces."""
    return page.driver.execute_async_script("""
        const [pieces, done] = arguments;
        import('/page/sse.js').then(({SseParser}) => {
          const parser = new SseParser();
          done(pieces.flatMap((piece) => parser.push(piece)));
        }).catch((error) => done(String(error)));""", pieces)


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_event_parser(page, newline):
    serve(page)
    lines = ["data: one", "", ": comment", "event: x", "data:two", "data", "data:  three", "", "",
             "id: 4", "", "retry: 5", "data: four", "", "data: never ended"]
    text = newline.join(lines)
    expected = ["one", "two\n\n three", "four"]
    assert parse(page, [text]) == expected
    assert parse(page, list(text)) == expected
    for cut in range(len(text)):
        assert parse(page, [text[:cut], text[cut:]]) == expected


def test_event_parser_is_bounded(page):
    serve(page)
    assert "too long" in parse(page, ["data: " + "x" * 600_000, "x" * 600_000])
    assert "too long" in parse(page, ["data: " + "x" * 600_000 + "\n"] * 2)


def test_text_appears_while_it_streams(page):
    def script(body):
        yield chunk("First. ")
        time.sleep(0.8)
        yield chunk("Second.") + chunk(finish="stop") + chat_server.usage(9, 25) + DONE
    serve(page, script)
    page.send("Hi")
    page.until(lambda: page.answer == "First. ", "first part", 0.7)
    assert page.find(".answer").get_attribute("aria-busy") == "true"
    assert page.shown("#stop") and not page.shown("#send")
    page.until_idle()
    assert page.answer == "First. Second."
    assert page.find(".answer").get_attribute("aria-busy") is None
    # 24 tokens after the first one, in 0.8 s.
    rate, first, tokens = page.stats.split(" · ")
    assert 20 < float(rate.removesuffix(" tokens/s")) < 32
    assert 0 <= float(first.removeprefix("first token ").removesuffix(" s")) < 0.7
    assert tokens == "25 tokens"


@pytest.mark.parametrize("by", ["button", "escape"])
def test_stop_closes_the_connection_and_keeps_the_text(page, by):
    fake = serve(page, lambda body: chat_server.answer("word " * 500, pause=0.01))
    page.send("Hi")
    page.until_answer_has(30)
    if by == "button":
        page.find("#stop").click()
    else:
        page.press(Keys.ESCAPE)
    page.until_idle(1)
    assert fake.aborted.wait(2)
    kept = page.answer
    assert kept.startswith("word word")
    assert page.note.endswith("Stopped.")
    assert page.focused == "prompt"
    page.ask("Go on")
    assert chats(fake)[1]["body"]["messages"][1] == {"role": "assistant", "content": kept}


def test_new_chat_in_mid_answer_stops_it(page):
    fake = serve(page, lambda body: chat_server.answer("word " * 500, pause=0.01))
    page.send("Hi")
    page.until_answer_has(10)
    page.find("#new-chat").click()
    assert fake.aborted.wait(2)
    assert page.all(".message") == []
    assert page.shown("#welcome") and page.focused == "prompt"
    page.driver.refresh()
    page.until(lambda: page.state == "ready", "a connection")
    assert page.all(".message") == []


def test_reload_keeps_the_conversation(page):
    fake = serve(page)
    page.ask("Hi")
    stats = page.stats
    page.driver.refresh()
    page.until(lambda: page.state == "ready", "a connection")
    assert (page.answer, page.stats) == ("Hello.", stats)
    page.ask("More")
    assert len(chats(fake)[1]["body"]["messages"]) == 3


def test_a_reader_who_scrolled_up_is_left_there(page):
    serve(page, lambda body: chat_server.answer("word\n\n" * 120, pause=0.01))
    page.send("Hi")
    page.until_answer_has(200)
    assert not page.shown("#jump")  # it follows the end
    top = "return document.getElementById('scroll').scrollTop"
    page.driver.execute_script("document.getElementById('scroll').scrollTop = 0")
    page.until(lambda: page.shown("#jump"), "button to the end")
    before = len(page.answer)
    page.until_answer_has(before + 40)
    assert page.driver.execute_script(top) == 0
    page.find("#jump").click()
    assert page.driver.execute_script(top) > 0
    page.until_idle()
    assert not page.shown("#jump")


# --- Errors -----------------------------------------------------------------------------------

def test_refusal_is_shown_in_the_servers_words_and_can_be_retried(page):
    told = "The prompt has 9012 tokens; the context holds 8192."
    answers = iter([Refusal(400, told, "context_length_exceeded"), chat_server.answer("Fine.")])

    def script(body):
        answer = next(answers)
        if isinstance(answer, Refusal):
            raise answer
        return answer
    fake = serve(page, script)
    page.ask("Hi")
    assert page.error == told
    assert page.find(".error").get_attribute("role") == "alert"
    page.find(".again").click()
    page.until_idle()
    assert page.answer == "Fine."
    assert chats(fake)[0]["body"] == chats(fake)[1]["body"]
    assert len(page.all(".message")) == 2


def test_a_question_without_an_answer_is_not_sent_again(page):
    def script(body):
        if body["messages"][-1]["content"] == "too much":
            raise Refusal(400, "Too long.")
        return chat_server.answer("Fine.")
    fake = serve(page, script)
    page.ask("too much")
    page.ask("less")
    assert [m["content"] for m in chats(fake)[1]["body"]["messages"]] == ["less"]


def test_busy_server_says_when_to_come_back(page):
    def script(body):
        raise Refusal(503, "The queue is full.", headers={"Retry-After": "2"})
    serve(page, script)
    page.ask("Hi")
    assert page.error == "The queue is full. Try again in 2 s."


def test_error_after_the_first_tokens_keeps_them(page):
    late = chat_server.frame({"error": {"message": "The model stopped.", "code": "x"}})
    serve(page, script_of(chunk("So far "), late))
    page.ask("Hi")
    assert page.answer == "So far "
    assert page.error == "The model stopped."


@pytest.mark.parametrize(("pieces", "told"), [
    ([chunk("So far ")], "ended before the answer was complete"),
    ([chunk("So far "), b"data: {nonsense\n\n"], "makes no sense"),
])
def test_broken_streams_are_told_apart_from_answers(page, pieces, told):
    serve(page, script_of(*pieces))
    page.ask("Hi")
    assert told in page.error


def test_server_gone(page):
    fake = serve(page)
    fake.__exit__()
    page.ask("Hi")
    assert "does not answer" in page.error


def test_length_and_empty_answers_are_named(page):
    serve(page, script_of(chunk("Cut"), chunk(finish="length"), DONE))
    page.ask("Hi")
    assert "longest answer" in page.note
    serve(page, script_of(chunk(finish="stop"), DONE))
    page.ask("Hi")
    assert "empty" in page.note


# --- What an answer may do --------------------------------------------------------------------

HOSTILE = """<img src="http://attacker.invalid/a.png" onerror="document.title='owned'">
<script>document.title = 'owned'</script>

![x](http://attacker.invalid/b.png) [y](javascript:document.title='owned')

```html
<iframe src="http://attacker.invalid/c"></iframe>
```
"""


def test_markup_in_an_answer_stays_text(page):
    serve(page, lambda body: chat_server.answer(HOSTILE))
    page.hosts()
    page.ask("Hi")
    assert "<script>document.title = 'owned'</script>" in page.answer
    assert page.driver.title == "O3 chat"
    assert page.all(".content img, .content script, .content iframe, .content a") == []
    assert len(page.hosts()) == 1


def rendered(page, markdown):
    serve(page, script_of(chunk(markdown), chunk(finish="stop"), DONE))
    page.ask("Hi")
    # The tree as "tag(children)", with the text between.
    return page.driver.execute_script("""
        const show = (node) => node.nodeType === 3 ? node.data
            : node.tagName === 'BUTTON' ? ''
            : node.tagName.toLowerCase() + '(' + [...node.childNodes].map(show).join('') + ')';
        return [...document.querySelector('.content').childNodes].map(show)""")


@pytest.mark.parametrize(("markdown", "tree"), [
    ("a **b** *c* `d*e*` _f_ snake_case_name 2*3*4", ["p(a strong(b) em(c) code(d*e*) em(f) "
                                                     "snake_case_name 2*3*4)"]),
    ("one\ntwo\n\nthree", ["p(one\ntwo)", "p(three)"]),
    ("# T\n## U\ntext", ["h3(T)", "h4(U)", "p(text)"]),
    ("1. a\n2. b\n   - c\n   - d\n3. e", ["div(ol(li(a)li(bul(li(c)li(d)))li(e)))"]),
    ("- a\n\n- b\n\nend", ["div(ul(li(a)li(b)))", "p(end)"]),
    ("3. a\n4. b", ["div(ol(li(a)li(b)))"]),
    ("> q\n> r\n\n---", ["blockquote(p(q\nr))", "hr()"]),
    ("```py\nx = 1\n\ny = '**2**'\n```\nend", ["div(div(span(py))pre(code(x = 1\n\ny = '**2**')))",
                                              "p(end)"]),
    ("```\nnever closed", ["div(div(span(text))pre(code(never closed)))"]),
    ("a ** b and `c", ["p(a ** b and `c)"]),
    ("**bold *both* bold**", ["p(strong(bold em(both) bold))"]),
])
def test_markdown(page, markdown, tree):
    assert rendered(page, markdown) == tree


def test_a_long_hostile_answer_does_not_hang_the_page(page):
    serve(page, script_of(chunk("*a_`" * 20_000), chunk(finish="stop"), DONE))
    page.send("Hi")
    page.until_idle(10)
    assert len(page.answer) > 50_000


# --- Settings ---------------------------------------------------------------------------------

def test_settings_go_into_the_request(page):
    fake = serve(page)
    page.ask("Hi")
    body = chats(fake)[0]["body"]
    assert body == {"model": "smollm2-135m-instruct", "stream": True,
                    "stream_options": {"include_usage": True}, "temperature": 0.7, "top_p": 0.95,
                    "max_tokens": 1024, "messages": [{"role": "user", "content": "Hi"}]}
    page.change("system", "Be brief.")
    for name, value in {"temperature": "0", "top_p": "0.5", "top_k": "40", "seed": "7",
                        "max_tokens": ""}.items():
        page.change(name, value)
    page.ask("More")
    body = chats(fake)[1]["body"]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]
    assert (body["temperature"], body["top_p"], body["top_k"], body["seed"]) == (0, 0.5, 40, 7)
    assert "max_tokens" not in body
    assert page.find("#temperature-value").text == "0.00"

    page.driver.refresh()
    page.until(lambda: page.state == "ready", "a connection")
    assert page.find("#seed").get_attribute("value") == "7"
    assert page.find("#system").get_attribute("value") == "Be brief."
    assert "Be brief." not in json.dumps(page.storage("local"))  # for this tab only
    page.find("#settings-reset").click()
    assert page.find("#seed").get_attribute("value") == ""


def test_a_setting_out_of_range_is_told_and_not_sent(page):
    fake = serve(page)
    page.change("top_k", "-1")
    assert page.find("#settings-problem").text.startswith("Top-k:")
    page.send("Hi")
    assert page.focused == "top_k"
    assert chats(fake) == []


def test_model_can_be_chosen_where_there_are_several(page):
    fake = serve(page, models=("small", "large"))
    assert page.shown("#model")
    page.change("model", "large")
    page.ask("Hi")
    assert chats(fake)[0]["body"]["model"] == "large"


# --- By keyboard, on phones, in the dark ------------------------------------------------------

def test_keyboard_alone(page):
    fake = serve(page)
    assert page.focused == "prompt"
    page.press("one", Keys.SHIFT, Keys.ENTER, Keys.SHIFT, "two")
    assert chats(fake) == []
    page.press(Keys.ENTER)
    page.until_idle()
    assert chats(fake)[0]["body"]["messages"][0]["content"] == "one\ntwo"
    assert page.focused == "prompt"
    reached = set()
    for _ in range(40):
        page.press(Keys.TAB)
        reached.add(page.focused)
    assert reached >= {"new-chat", "theme", "settings-toggle", "prompt", "settings-close", "system",
                       "temperature", "top_p", "top_k", "seed", "max_tokens", "settings-reset",
                       "sign-out"}


def test_focus_is_visible(page):
    serve(page)
    for _ in range(30):
        page.press(Keys.TAB)
        # The message box shows its focus by the frame around it.
        style, width = page.driver.execute_script("""
            const e = document.activeElement;
            if (e === document.body) return ['solid', 2];  // the end of the ring
            if (e.id === 'prompt') return [getComputedStyle(e.form).boxShadow !== 'none' && 'solid', 2];
            const s = getComputedStyle(e);
            return [s.outlineStyle, parseFloat(s.outlineWidth)]""")
        assert style == "solid" and width >= 2, page.focused


def test_every_control_has_a_name(page):
    serve(page)
    page.ask("Hi")
    nameless = page.driver.execute_script("""
        return [...document.querySelectorAll('button, input, select, textarea')].filter((e) =>
            !e.ariaLabel && !e.labels?.length && !e.textContent.trim()).map((e) => e.outerHTML)""")
    assert nameless == []


def test_the_end_of_an_answer_is_announced(page):
    serve(page)
    page.ask("Hi")
    region = page.find("#announce")
    assert region.get_attribute("aria-live") == "polite"
    assert region.get_attribute("textContent") == "Answer complete. Hello."


def test_narrow_window(page):
    wide = "```\n" + "x" * 400 + "\n```\n" + "y" * 400
    serve(page, script_of(chunk(wide), chunk(finish="stop"), DONE))
    browser.resize(page.driver, 320, 600)
    page.until(lambda: not page.shown("#settings"), "closed settings")
    page.ask("z" * 300)
    overflow = page.driver.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0
    page.find("#settings-toggle").click()
    assert page.focused == "settings-close"
    assert page.driver.execute_script("return document.getElementById('chat').inert")
    page.press(Keys.ESCAPE)
    assert not page.shown("#settings")
    assert page.focused == "settings-toggle"


def background(page):
    return page.driver.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_theme_follows_the_system_until_it_is_chosen(page):
    serve(page)
    light = background(page)
    browser.prefer(page.driver, dark=True)
    dark = background(page)
    assert light != dark
    page.find("#theme").click()
    assert background(page) == light
    page.driver.refresh()
    page.until(lambda: page.state == "ready", "a connection")
    assert background(page) == light
    page.find("#theme").click()
    assert background(page) == dark
    browser.prefer(page.driver, dark=False)
    assert background(page) == light


def luminance(color):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                for c in (v / 255 for v in color)]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(page, dark):
    """WCAG 2.2 AA: 4.5 for text; every text element of the page on what is painted behind it."""
    late = chat_server.frame({"error": {"message": "Something went wrong."}})
    serve(page, script_of(chunk("# Title\n\n1. a `b`\n\n> q\n\n```py\nx\n```"), late))
    browser.prefer(page.driver, dark)
    page.ask("Hi")
    pairs = page.driver.execute_script("""
        const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
        const behind = (e) => {
          for (; e; e = e.parentElement) {
            const c = rgba(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.99) return c.slice(0, 3);
          }
          return null;
        };
        return [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility()
            && !e.disabled && !e.closest('.sr-only, .skip, svg')
            && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
          .map((e) => [e.tagName + '.' + e.className, rgba(getComputedStyle(e).color).slice(0, 3),
                       behind(e)])""")
    assert len(pairs) > 30
    for what, text, ground in pairs:
        a, b = sorted((luminance(text), luminance(ground)))
        assert (b + 0.05) / (a + 0.05) >= 4.5, (what, text, ground)


def test_no_console_problem_and_no_other_host(page):
    page.hosts()
    fake = serve(page)
    page.ask("Hi")
    page.find("#theme").click()
    page.find("#settings-toggle").click()
    assert browser.console_problems(page.driver) == []
    assert page.hosts() == {fake.url.split("/")[2]}
