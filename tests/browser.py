# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium for the page's tests, from Debian's chromium and chromium-driver."""
import json
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

import locate

def start(profile: str, width: int = 1280, height: int = 800, dark: bool = False) -> webdriver.Chrome:
    """A browser that records its console and its network requests."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if absent:
        locate.missing("browser", f"not installed: {', '.join(absent)}; ./dev setup test does it")
    options = Options()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--disable-background-networking", "--no-first-run",
                     f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    resize(driver, width, height)
    prefer(driver, dark)
    return driver


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """The page's own size; a window cannot be made as narrow as a phone."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def prefer(driver: webdriver.Chrome, dark: bool) -> None:
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


def console_problems(driver: webdriver.Chrome) -> list[str]:
    """Console lines at warning level or above, and violations of the security policy."""
    return [entry["message"] for entry in driver.get_log("browser")
            if entry["level"] in ("WARNING", "SEVERE")]


def requested_urls(driver: webdriver.Chrome) -> list[str]:
    """Every URL that the page asked for since the last call."""
    urls = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.append(message["params"]["request"]["url"])
    return urls
