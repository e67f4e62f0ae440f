"""The search of the researcher: the web by Tavily, or the files in `corpus/`.

The web is searched if the server has a key for Tavily, as its gateway then gives the agent the
address and a token.
"""

import os
import re
from pathlib import Path

import httpx
from langchain_core.documents import Document
from langchain_core.tools import tool

CORPUS = Path(__file__).parent.parent / "corpus"
TAVILY = os.environ.get("TAVILY_BASE_URL", "https://api.tavily.com")
MOST_RESULTS = 4
COMMON = {"and", "are", "can", "does", "for", "from", "how", "the", "what", "why", "with"}


@tool(response_format="content_and_artifact")
def internet_search(query: str) -> tuple[str, list[Document]]:
    """Search for pages about a topic. Returns passages, each with its source."""
    key = os.environ.get("TAVILY_API_KEY")
    found = search_web(query, key) if key else search_corpus(query)
    return "\n\n".join(map(as_text, found)) or f"Nothing was found about {query!r}.", found


def as_text(found: Document) -> str:
    about = found.metadata
    return f"### {about['title']}\nSource: {about['source']}\n\n{found.page_content}"


def search_web(query: str, key: str) -> list[Document]:
    response = httpx.post(
        f"{TAVILY}/search",
        headers={"Authorization": f"Bearer {key}"},
        json={"query": query, "max_results": MOST_RESULTS},
        timeout=30,
    )
    response.raise_for_status()
    return [
        Document(page["content"], metadata={"title": page["title"], "source": page["url"]})
        for page in response.json()["results"]
    ]


def search_corpus(query: str) -> list[Document]:
    """The sections of the files that have the most words of the query; a title counts thrice."""
    wanted = words(query)

    def score(section: Document) -> int:
        in_title = wanted & words(section.metadata["title"])
        return len(wanted & words(section.page_content)) + 3 * len(in_title)

    best = sorted(sections(), key=score, reverse=True)[:MOST_RESULTS]
    return [section for section in best if score(section) > 1]


def sections() -> list[Document]:
    found = []
    for file in sorted(CORPUS.glob("*.md")):
        title, *parts = re.split(r"^#+ ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for part in parts:
            heading, _, text = part.partition("\n")
            about = {"title": f"{title.strip()}: {heading}", "source": f"corpus/{file.name}"}
            found.append(Document(text.strip(), metadata=about))
    return found


def words(text: str) -> set[str]:
    """The words of a text without their endings, so that `bees` finds `bee`."""
    found = re.findall(r"[a-z]{3,}", text.lower())
    return {re.sub(r"(ing|es|s|ed)$", "", word) for word in found} - COMMON
