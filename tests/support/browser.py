# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, for pages that gantry writes: opens a file, points, types, and keeps what the page complained of."""

import base64
import io
import json
import os
import pathlib

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By

READY = """
const done = arguments[0];
(function wait() { document.documentElement.dataset.readyMs ? done() : setTimeout(wait, 10); })();
"""


class Browser:
    def __init__(self, width=1400, height=900):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1", f"--window-size={width},{height}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # A sanitizer that this process was started with is not the browser's.
        env = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver", env=env))
        self.driver.set_script_timeout(120)

    def open(self, path, dark=False):
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get(pathlib.Path(path).resolve().as_uri())
        self.driver.execute_async_script(READY)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def point_at(self, x, y, click=False):
        actions = ActionBuilder(self.driver)
        actions.pointer_action.move_to_location(round(x), round(y))
        if click:
            actions.pointer_action.click()
        actions.perform()

    def settle(self):
        """Waits until what was asked to be drawn is drawn."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def pixels(self):
        self.settle()
        shot = base64.b64decode(self.driver.get_screenshot_as_base64())
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))

    def complaints(self):
        """Lines of the console, and addresses other than files that were asked for."""
        lines = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                lines += [] if address.startswith(("file:", "data:")) else [address]
        return lines

    def close(self):
        self.driver.quit()
