"""Rich answers: formulas, diagrams and code, while they stream and when they are done."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, expect

from server.live_server import LiveServer
from server.scripted_agent import Gate, emit, prompt, text
from web.browser_watch import Watched
from web.chat_tab import Tab
from web.test_accessible import SIZES, findings

FORMULAS = r"""### Recall

It is $R = \frac{|A \cap B|}{|A|}$, or \(a_1 + b_2\), and costs $5 and $6.

$$
f(x) = \frac{1}{\sigma\sqrt{2\pi}} \exp\left(-\frac{1}{2}\left(\frac{x-\mu}{\sigma}\right)^2\right)
$$

##### Then

\[ \begin{pmatrix} a & b \\ c & d \end{pmatrix} \]

| | p95 |
|---|--:|
| gateway | 312 |

Broken: $\frac{1}{$
"""

DIAGRAMS = {
    "Flowchart: The way": "graph TD\naccTitle: The way\nA[Browser] -->|HTTP| B(Server)\n"
    "B --> C{Agent?}\nC -->|yes| D[Run]\nstyle D fill:#f9f",
    "Sequence diagram": "sequenceDiagram\nparticipant U as User\nU->>S: ask\nNote over U,S: twice",
    "Class diagram": "classDiagram\nAnimal <|-- Duck\nAnimal : +int age",
    "State diagram": "stateDiagram-v2\n[*] --> Running\nRunning --> [*]: done",
    "Entity relationship diagram": "erDiagram\nCHAT ||--o{ RUN : has",
    "Gantt chart: Plan": "gantt\ntitle Plan\nsection A\nPage :a1, 2026-01-01, 10d",
    "Pie chart: Time": 'pie title Time\n"search" : 42.5\n"shell" : 30',
    "User journey: A day": "journey\ntitle A day\nsection Go\nMake tea: 5: Me",
    "Timeline: Past": "timeline\ntitle Past\n2002 : One\n2004 : Two",
    "Quadrant chart: Reach": "quadrantChart\ntitle Reach\nx-axis Low --> High\nA: [0.3, 0.6]",
    "Chart: Sales": 'xychart-beta\ntitle "Sales"\nx-axis [jan, feb]\nbar [50, 60]',
    "Requirement diagram": "requirementDiagram\nrequirement r {\nid: 1\ntext: fast\n}",
    "Kanban board": "kanban\n  Todo\n    [Write docs]",
}

DRAWN = "(image) => image.complete && image.naturalWidth > 20 && image.naturalHeight > 10"
"""An image that is not a document of SVG has no size."""


FONTS = """async () => {
  await document.fonts.ready;
  return [...document.fonts].filter(({ status }) => status === "loaded").map((f) => f.family);
}"""


def fence(code: str) -> str:
    return f"```mermaid\n{code}\n```\n\n"


def show(server: LiveServer, watched: Watched, words: str, size: str = "desktop") -> Tab:
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if size == "mobile" else {}
    tab = Tab(watched(server.url, viewport=SIZES[size], **touch)[0])
    tab.say(prompt(text(words)))
    tab.finish()
    return tab


def assert_drawn(picture: Locator) -> None:
    expect(picture).to_be_visible()
    picture.scroll_into_view_if_needed()
    assert picture.evaluate(DRAWN)


@pytest.mark.parametrize("size", SIZES)
def test_formulas_are_drawn_with_our_own_fonts(
    server: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    tab = show(server, watched, FORMULAS, size)
    expect(tab.log.locator(".katex")).to_have_count(4)
    expect(tab.log.locator(".katex-display")).to_have_count(2)
    expect(tab.log).to_contain_text("costs $5 and $6")
    expect(tab.log).to_contain_text("This formula couldn't be displayed.")
    fonts = (
        "document.fonts.ready.then(() => [...document.fonts].filter((f) => f.status === 'loaded')"
    )
    loaded = tab.page.evaluate(f"{fonts}.map((f) => f.family))")
    assert "KaTeX_Main" in {name.strip('"') for name in loaded}
    assert findings(tab, axe) == []
    assert headings(tab) == []


def headings(tab: Tab) -> list[str]:
    """What axe says of headings and of the heads of tables; `findings` has loaded it."""
    script = """async () => {
      const rules = ["heading-order", "empty-table-header"];
      const { violations } = await axe.run(document, { runOnly: { type: "rule", values: rules } });
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.html)}`);
    }"""
    found: list[str] = tab.page.evaluate(script)
    return found


def test_every_kind_of_diagram_is_drawn(server: LiveServer, watched: Watched) -> None:
    tab = show(server, watched, "".join(map(fence, DIAGRAMS.values())))
    for name in DIAGRAMS:
        assert_drawn(tab.log.get_by_role("img", name=name, exact=True))


@pytest.mark.parametrize("size", SIZES)
def test_a_diagram_is_enlarged_and_read(
    server: LiveServer, watched: Watched, axe: str, size: str
) -> None:
    name = "Flowchart: The way"
    tab = show(server, watched, fence(DIAGRAMS[name]) + fence("mindmap\n  root"), size)
    assert_drawn(tab.log.get_by_role("img", name=name))
    expect(tab.log).to_contain_text("Diagrams of this kind are not drawn here.")
    assert findings(tab, axe) == []
    tab.log.get_by_role("button", name="Show source").click()
    expect(tab.log.get_by_role("group", name=f"Source of {name}")).to_contain_text("A[Browser]")
    assert findings(tab, axe) == []
    tab.log.get_by_role("button", name="Show diagram").click()
    tab.log.get_by_role("button", name="Enlarge diagram").click()
    dialog = tab.page.get_by_role("dialog", name=name)
    assert_drawn(dialog.get_by_role("img", name=name))
    assert findings(tab, axe) == []
    tab.page.keyboard.press("Escape")
    expect(tab.log.get_by_role("button", name="Enlarge diagram")).to_be_focused()


def test_a_diagram_is_drawn_again_for_the_other_theme(server: LiveServer, watched: Watched) -> None:
    tab = show(server, watched, fence("graph TD\nA --> B"))
    picture = tab.log.get_by_role("img", name="Flowchart")
    tab.page.emulate_media(color_scheme="light")
    light = picture.get_attribute("src")
    assert light is not None
    tab.page.emulate_media(color_scheme="dark")
    expect(picture).not_to_have_attribute("src", light)
    assert_drawn(picture)


def test_nothing_flickers_while_it_is_written(
    server: LiveServer, watched: Watched, gate: Gate
) -> None:
    def part(words: str) -> list[Any]:
        return emit("text_delta", id="t", delta=words)

    tab = Tab(watched(server.url)[0])
    steps = [
        part("Let $a_1"),
        gate.step,
        part("$ be one.\n\n$$\n\\frac{1"),
        gate.step,
        part("}{2}\n$$\n\nThen\n\n```mermaid\ngraph TD\nA --"),
        gate.step,
        part("> B\n```\n\nThat is all."),
    ]
    tab.say(prompt(*steps))
    tab.sees("Let")
    gate.wait()
    expect(tab.answers.last).not_to_contain_text("$")
    gate.open()
    expect(tab.log.locator(".formula-pending")).to_be_visible()
    expect(tab.answers.last).not_to_contain_text("frac")
    gate.open()
    place = tab.log.get_by_text("Drawing a diagram…")
    expect(place).to_be_visible()
    expect(tab.log.locator(".katex-display")).to_be_visible()
    expect(tab.answers.last).not_to_contain_text("graph TD")
    gate.open()
    tab.finish()
    assert_drawn(tab.log.get_by_role("img", name="Flowchart"))
    expect(place).to_have_count(0)


HOSTILE = {
    "a link": 'graph TD\nA["x"] --> B\nclick A href "javascript:alert(1)"\nclick B call alert(1)',
    "a script": 'graph TD\nA["<script>alert(1)</script><b onclick=alert(1)>b</b>"]',
    "settings": '%%{init: {"securityLevel": "loose", "flowchart": {"htmlLabels": true}}}%%\n'
    'graph TD\nA["<i onmouseover=alert(1)>x</i>"]',
    "front matter": "---\nconfig:\n  securityLevel: loose\n  themeCSS: '*{color:red}'\n---\n"
    "graph TD\nA --> B",
    "an actor's link": "sequenceDiagram\nlink A: x @ javascript:alert(1)\nA->>A: <s onclick=x>y",
    "entities": 'graph TD\nA["#lt;b onclick=alert(1)#gt;x &lt;i onclick=alert(1)&gt;y #60;s#62;"]',
    "an open tag": 'graph TD\nA["<b onmouseover=alert(1) x="] --> B["<<i onclick=alert(1)>"]',
    "Markdown": 'graph TD\nA["`**x** [y](javascript:alert(1)) <b onclick=alert(1)>`"]',
    "a class's link": 'classDiagram\nclass A\nclick A href "javascript:alert(1)" "tip"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_diagram_is_only_a_picture(
    server: LiveServer, watched: Watched, name: str
) -> None:
    tab = show(server, watched, fence(HOSTILE[name]))
    picture = tab.log.locator(".diagram img, .code:has-text('mermaid')")
    expect(picture).to_have_count(1)
    found = tab.log.evaluate("(log) => log.querySelectorAll('script, style, iframe, a').length")
    assert found == 0
    source = unquote(picture.get_attribute("src") or "")
    assert not re.search(r"<[^>]+(?:javascript:|\son\w+=)", source)
    assert tab.page.locator("body > div[aria-hidden=true] svg").count() == 0  # nothing is left


def test_code_is_wrapped_numbered_and_saved(server: LiveServer, watched: Watched) -> None:
    line = "value = " + " + ".join(f"number_{each}" for each in range(60))
    tab = show(server, watched, f"```python\n{line}\nprint(value)\n```")
    body = tab.log.get_by_role("group", name="python code", exact=True)
    expect(body).to_have_attribute("data-more", "")  # a line goes on
    body.evaluate("(box) => box.scrollTo({ left: box.scrollWidth })")
    expect(body).not_to_have_attribute("data-more", "")
    tab.log.get_by_role("button", name="Wrap lines").click()
    assert body.evaluate("(box) => box.scrollWidth <= box.clientWidth + 1")
    tab.log.get_by_role("button", name="Line numbers").click()
    expect(body.locator(".code-line")).to_have_count(2)
    with tab.page.expect_download() as saving:
        tab.log.get_by_role("button", name="Download code").click()
    assert saving.value.suggested_filename == "code.py"
    assert saving.value.path().read_text() == f"{line}\nprint(value)"
