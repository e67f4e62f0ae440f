import { render } from "@testing-library/react";
import { beforeAll, expect, test } from "vitest";
import { drawer } from "@/content/Formula";
import hostile from "@/content/hostile.json";
import { Json } from "@/content/Json";
import { Markdown } from "@/content/Markdown";

/** All that an answer may ever be made of, our own controls and icons included. */
const ELEMENTS = new Set(
  `a blockquote br button circle code del details div em figcaption figure h2 h3 h4 h5 h6 hr img li line
   ol p path pre rect section span strong sub summary sup svg table tbody td th thead tr ul`.split(
    /\s+/,
  ),
);
const ATTRIBUTES = new Set(
  `alt aria-describedby aria-hidden aria-label aria-live aria-pressed class cx cy d data-footnotes data-prose data-sd-caret-hidden
   decoding dir fill height href id loading open points r rel role rx ry scope src start stroke
   stroke-dasharray stroke-linecap stroke-linejoin stroke-width style tabindex target title type
   viewBox width x x1 x2 xmlns y y1 y2`.split(/\s+/),
);
/** What we set ourselves: columns on their side, and how high code may be. */
const STYLE = /^(?:text-align: (?:left|right|center);|max-height: \d+px;)?$/;

/** What KaTeX builds, besides: MathML, and boxes with sizes. It has no links, images and classes of the text. */
const MATHS = new Set(
  `annotation math menclose merror mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt mstyle
   msub msubsup msup mtable mtd mtext mtr munder munderover semantics`.split(/\s+/),
);
const MATHS_ATTRIBUTES = new Set(
  `accent accentunder columnalign columnlines columnspacing data-more depth display displaystyle encoding fence
   linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation
   preserveAspectRatio rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset`.split(
    /\s+/,
  ),
);
const MATHS_STYLE =
  /^(?:(?:[a-z-]+): (?:-?[\d.]+(?:em|pt|px|%)?|solid|dashed|relative|absolute|none|block|inline-block|hidden|[a-z]+|#[\da-f]+|rgb\([\d, ]+\))(?: [\w.#-]+)*; ?)*$/;

function faults(root: HTMLElement): string[] {
  return [...root.querySelectorAll("*")].flatMap((element) => {
    const name = element.tagName.toLowerCase();
    const isMaths = element.closest(".katex") !== null;
    const found = ELEMENTS.has(name) || (isMaths && MATHS.has(name)) ? [] : [`element ${name}`];
    for (const { name: attribute, value } of element.attributes) {
      const isKnown = ATTRIBUTES.has(attribute) || (isMaths && MATHS_ATTRIBUTES.has(attribute));
      if (!isKnown) found.push(`${name}[${attribute}]`);
      if (attribute === "style" && !(isMaths ? MATHS_STYLE : STYLE).test(value))
        found.push(`style ${value}`);
      if (attribute === "href" && !/^(?:https?|mailto):/.test((element as HTMLAnchorElement).href))
        found.push(`href ${value}`);
      if (attribute === "src" && new URL(value, document.baseURI).host !== location.host)
        if (!value.startsWith("data:image/")) found.push(`src ${value}`);
    }
    if (name === "a" && element.getAttribute("rel") !== "noopener noreferrer") found.push("rel");
    return found;
  });
}

const SOURCES = [
  {
    id: "1",
    number: 1,
    title: '"><script>alert(1)</script>',
    url: "javascript:alert(1)",
    after: 3,
  },
];

beforeAll(async () => {
  await drawer.load();
});

test("the judge of these tests sees what is wrong", () => {
  const box = document.createElement("div");
  box.innerHTML = `<script></script><img src="https://evil.example/p.png" onerror="x">
    <a href="javascript:x" rel="noopener noreferrer"></a><p style="color: red"></p>`;
  expect(faults(box)).toEqual([
    "element script",
    "src https://evil.example/p.png",
    "img[onerror]",
    "href javascript:x",
    "style color: red",
  ]);
});

test.each(hostile)("$name does no harm, whole or character by character", ({ text }) => {
  const page = render(<Markdown text={text} />);
  expect(faults(page.container)).toEqual([]);
  page.rerender(<Markdown text={text} sources={SOURCES} />);
  expect(faults(page.container)).toEqual([]);
  page.unmount();

  const stream = render(<Markdown text="" streaming />);
  for (let length = 1; length <= text.length; length += 1) {
    stream.rerender(<Markdown text={text.slice(0, length)} streaming />);
    expect(faults(stream.container), text.slice(0, length)).toEqual([]);
  }
});

test.each(hostile)("$name is text in a tool's result", ({ text }) => {
  const { container } = render(<Json value={text} />);
  expect(faults(container)).toEqual([]);
  expect(container.querySelector("code")?.textContent).toContain(text.slice(0, 3));
});
