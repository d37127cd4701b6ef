# SPDX-License-Identifier: Apache-2.0
"""What a user does on the chat page, for tests that drive it in a browser."""
import time
from typing import Callable

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser


class ChatPage:
    def __init__(self, driver):
        self.driver = driver

    def open(self, url: str) -> "ChatPage":
        # Another fragment alone would not load the page anew.
        self.driver.get("about:blank")
        self.driver.get(url)
        return self

    def open_ready(self, link: str) -> "ChatPage":
        self.open(link)
        self.until(lambda: self.state == "ready", "a connection")
        return self

    def until(self, met: Callable[[], bool], what: str, seconds: float = 10) -> None:
        end = time.monotonic() + seconds
        while not met():
            assert time.monotonic() < end, f"no {what} within {seconds} s; the page shows: {self.text[:2000]}"
            time.sleep(0.02)

    def find(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def shown(self, selector: str) -> bool:
        return any(node.is_displayed() for node in self.all(selector))

    def press(self, *keys: str) -> None:
        """Types into whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def send(self, text: str) -> None:
        self.find("#prompt").send_keys(text, Keys.ENTER)

    def ask(self, text: str, seconds: float = 60) -> str:
        """Sends and waits for the end; the answer's text."""
        self.send(text)
        self.until_idle(seconds)
        return self.answer

    def until_idle(self, seconds: float = 60) -> None:
        self.until(lambda: not self.shown("#stop"), "end of the answer", seconds)

    def until_answer_has(self, characters: int, seconds: float = 60) -> None:
        self.until(lambda: len(self.answer) >= characters, f"answer of {characters} characters",
                   seconds)

    def change(self, name: str, value: str) -> None:
        """A setting, as if typed or dragged."""
        self.driver.execute_script(
            "const f = document.getElementById(arguments[0]); f.value = arguments[1];"
            "f.dispatchEvent(new Event('input', {bubbles: true}));", name, value)

    @property
    def text(self) -> str:
        return self.find("body").text

    @property
    def state(self) -> str:
        return self.find("#connection").get_attribute("data-state")

    @property
    def answer(self) -> str:
        nodes = self.all(".answer:last-child .content")
        return nodes[0].get_attribute("textContent") if nodes else ""

    @property
    def stats(self) -> str:
        return self.find(".answer:last-child .stats").text

    @property
    def note(self) -> str:
        return self.find(".answer:last-child .note").text

    @property
    def error(self) -> str:
        return self.find(".answer:last-child .error p").text

    @property
    def focused(self) -> str:
        return self.driver.switch_to.active_element.get_attribute("id")

    def storage(self, kind: str) -> dict:
        return self.driver.execute_script(f"return {{...{kind}Storage}}")

    def hosts(self) -> set[str]:
        """Hosts that the page sent requests to since the last call."""
        return {url.split("/")[2] for url in browser.requested_urls(self.driver)
                if url.startswith(("http:", "https:", "ws:", "wss:"))}
