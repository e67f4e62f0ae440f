/** The code view with line numbers. Loaded on demand. */
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { highlightActiveLine, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { EditorView, minimalSetup } from "codemirror";
import { readerOf } from "@/panes/codeLanguages";

const colour = (name: string) => `var(--code-${name})`;

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: colour("keyword") },
  { tag: [tags.function(tags.variableName), tags.heading], color: colour("title") },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: colour("string") },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: colour("number") },
  { tag: [tags.propertyName, tags.attributeName], color: colour("name") },
  { tag: [tags.className, tags.typeName, tags.meta], color: colour("type") },
  { tag: tags.comment, color: colour("comment"), fontStyle: "italic" },
  { tag: tags.inserted, color: "var(--ok)" },
  { tag: tags.deleted, color: "var(--bad)" },
]);

const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "var(--ground)" },
  // Reduced motion makes all transitions very short; lines would be measured during them.
  "&, & *": { transitionProperty: "none" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-gutters": {
    backgroundColor: "var(--ground-2)",
    color: "var(--ink-2)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": {
    backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  "& .cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground":
    { background: "color-mix(in srgb, var(--accent) 30%, transparent)" },
});

/** A read-only view of code that may still grow. */
export class Editor {
  #view: EditorView;
  #language = new Compartment();
  #label = new Compartment();

  constructor(parent: HTMLElement) {
    this.#view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          minimalSetup,
          lineNumbers(),
          highlightActiveLine(),
          bracketMatching(),
          syntaxHighlighting(COLOURS),
          LOOK,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          this.#language.of([]),
          this.#label.of([]),
        ],
      }),
    });
  }

  /** Shows another piece of code, from its start. */
  show(language: string | undefined, label: string): void {
    const about = { tabindex: "0", "aria-readonly": "true", "aria-label": label };
    this.#view.dispatch({
      effects: [
        this.#language.reconfigure(readerOf(language)),
        this.#label.reconfigure(EditorView.contentAttributes.of(about)),
      ],
    });
  }

  /** Appends new code; stays scrolled to the end if it was there. */
  write(code: string): void {
    const { state, scrollDOM } = this.#view;
    const before = state.doc.toString();
    if (before === code) return;
    const isMore = code.startsWith(before);
    const isAtEnd = scrollDOM.scrollHeight - scrollDOM.scrollTop - scrollDOM.clientHeight < 24;
    this.#view.dispatch({
      changes: isMore
        ? { from: before.length, insert: code.slice(before.length) }
        : { from: 0, to: state.doc.length, insert: code },
    });
    if (isMore && before && isAtEnd) scrollDOM.scrollTop = scrollDOM.scrollHeight;
  }

  destroy(): void {
    this.#view.destroy();
  }
}
