/**
 * Filters escape sequences of program output, for a terminal that shows the output of many programs.
 *
 * Rule 1: an allow list: colours, and moving and erasing within the program's own output. Sequences for
 *         the clipboard, title, links, input and terminal queries are removed, and no program can
 *         overwrite the output of another.
 * Rule 2: no invisible text.
 * Rule 3: our label before the output in its first line stays: the program continues that line, and can
 *         go back only to a line of its own.
 * Rule 4: the result does not depend on how the input is split.
 */

export const ESC = "\u001b";
/** Longer than any valid sequence. */
const LONGEST = 64;

type State = "text" | "escape" | "designation" | "sequence" | "string" | "stringEscape";

/** Characters that end text: each starts a state, or is replaced by another character. */
const CONTROLS: Record<string, State | { write: string }> = {
  [ESC]: "escape",
  "\u009b": "sequence",
  "\u0090": "string",
  "\u0098": "string",
  "\u009d": "string",
  "\u009e": "string",
  "\u009f": "string",
  "\b": { write: "\b" },
  "\t": { write: "\t" },
  "\r": { write: "\r" },
  "\n": { write: "\n" },
  "\u000b": { write: "\n" },
  "\f": { write: "\n" },
  "\u0085": { write: "\n" },
};
const AFTER_ESCAPE: Record<string, State> = {
  "[": "sequence",
  "]": "string",
  P: "string",
  X: "string",
  "^": "string",
  _: "string",
};
const STRING_ENDS = new Set(["\u0007", "\u009c", "\u0018", "\u001a"]);

/** Control characters, and characters that change the text direction. */
function isControl(code: number): boolean {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

export class EscapeFilter {
  #state: State = "text";
  #sequence = "";
  /** The cursor's line, counted from the program's first line. */
  #row = 0;
  #lowest = 0;
  /** The program returned to the start of the label's line; its next output gets a line of its own. */
  #returns = false;

  /** `isBehind`: a label is before it in its first line. */
  constructor(readonly isBehind = false) {}

  feed(text: string): string {
    let written = "";
    for (let at = 0; at < text.length; at++) {
      if (this.#state === "text") {
        const from = at;
        while (at < text.length && !isControl(text.charCodeAt(at))) at++;
        if (at > from) written += this.#ownLine() + text.slice(from, at);
        if (at === text.length) break;
      }
      written += this.#step(text.charAt(at));
    }
    return written;
  }

  /** Resets colours and position for the next program. */
  close(): string {
    const down = this.#lowest - this.#row;
    return `${ESC}[0m${down ? `${ESC}[${down}B` : ""}`;
  }

  #step(character: string): string {
    if (this.#state === "sequence") return this.#inSequence(character);
    if (this.#state === "text") return this.#control(character);
    this.#state = this.#next(character);
    return "";
  }

  #control(character: string): string {
    const means = CONTROLS[character];
    if (means === undefined) return "";
    if (typeof means !== "string") return this.#write(means.write);
    this.#sequence = "";
    this.#state = means;
    return "";
  }

  #write(character: string): string {
    if (this.#isOurs) return this.#writeBehind(character);
    if (character === "\n") this.#row++;
    this.#lowest = Math.max(this.#lowest, this.#row);
    return character;
  }

  get #isOurs(): boolean {
    return this.isBehind && this.#row === 0;
  }

  #writeBehind(character: string): string {
    if (character === "\b") return "";
    if (character === "\r") {
      this.#returns = true;
      return "";
    }
    if (character !== "\n") return this.#ownLine() + character;
    this.#returns = true;
    return this.#ownLine();
  }

  /** Moves off the label's line, if the program returned to its start. */
  #ownLine(): string {
    if (!this.#returns) return "";
    this.#returns = false;
    this.#row = this.#lowest = 1;
    return "\n";
  }

  /** Inside a removed string sequence. */
  #next(character: string): State {
    if (this.#state === "escape") {
      this.#sequence = "";
      return AFTER_ESCAPE[character] ?? (/[ -/]/.test(character) ? "designation" : "text");
    }
    if (this.#state === "designation") return /[ -/]/.test(character) ? "designation" : "text";
    if (this.#state === "stringEscape")
      return character === "\\" ? "text" : this.#escaped(character);
    if (STRING_ENDS.has(character)) return "text";
    return character === ESC ? "stringEscape" : "string";
  }

  /** An escape character ends a string sequence. */
  #escaped(character: string): State {
    this.#state = "escape";
    return this.#next(character);
  }

  #inSequence(character: string): string {
    if (isControl(character.charCodeAt(0))) {
      this.#state = "text";
      return this.#control(character);
    }
    if (/[@-~]/.test(character)) {
      this.#state = "text";
      return this.#allowed(this.#sequence, character);
    }
    this.#sequence = (this.#sequence + character).slice(0, LONGEST);
    return "";
  }

  #allowed(parameters: string, final: string): string {
    const isPlain = /^[\d;:]*$/.test(parameters) && parameters.length < LONGEST;
    const allowed = ALLOWED[final];
    if (!isPlain || !allowed) return "";
    if (final === "m") return allowed(parameters, this.#move);
    const own = this.#ownLine();
    return this.#isOurs && !isOnward(parameters, final)
      ? own
      : own + allowed(parameters, this.#move);
  }

  /** Limits movement to the program's own output. */
  #move = (lines: number): number => {
    const first = this.isBehind && this.#row > 0 ? 1 : 0;
    const row = Math.min(Math.max(this.#row + lines, first), this.#lowest);
    const moved = row - this.#row;
    this.#row = row;
    return moved;
  };
}

/** Whether it does not affect the text before it in the line. */
const isOnward = (parameters: string, final: string): boolean =>
  final === "C" || final === "J" || (final === "K" && /^0*$/.test(parameters));

type Allowed = (parameters: string, move: (lines: number) => number) => string;

const count = (parameters: string) => Math.max(1, Number.parseInt(parameters, 10) || 1);

const vertical =
  (direction: 1 | -1, then = ""): Allowed =>
  (parameters, move) => {
    const moved = Math.abs(move(direction * count(parameters)));
    return moved ? `${ESC}[${moved}${direction > 0 ? "B" : "A"}${then}` : then;
  };

const asItIs =
  (final: string): Allowed =>
  (parameters) =>
    `${ESC}[${parameters}${final}`;

/** Allowed sequences, by their final letter. */
const ALLOWED: Record<string, Allowed> = {
  A: vertical(-1),
  B: vertical(1),
  C: asItIs("C"),
  D: asItIs("D"),
  E: vertical(1, "\r"),
  F: vertical(-1, "\r"),
  G: asItIs("G"),
  J: (parameters) => (/^0*$/.test(parameters) ? `${ESC}[J` : ""),
  K: asItIs("K"),
  m: (parameters) => {
    const kept = colours(parameters);
    return kept.length ? `${ESC}[${kept.join(";")}m` : "";
  },
};

const HIDING = new Set(["5", "6", "8"]);
/** The number of parameters after 38, 48 and 58, by the next one. */
const COLOUR = new Set(["38", "48", "58"]);
const NUMBERS: Record<string, number> = { "5": 2, "2": 4 };

/** Removes blinking and hidden text. */
function colours(parameters: string): string[] {
  const given = parameters.split(";");
  const kept: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const each = given[at] ?? "";
    const numbers = COLOUR.has(each) ? (NUMBERS[given[at + 1] ?? ""] ?? 0) : 0;
    const colour = given.slice(at, at + numbers + 1);
    // A terminal ends a colour at a parameter with a colon and misreads the rest.
    if (numbers && !colour.every((number) => /^\d*$/.test(number))) return [];
    if (numbers) kept.push(...colour);
    else if (!HIDING.has(each.replace(/^0+(?=\d)|:.*/g, ""))) kept.push(each);
    at += numbers;
  }
  return kept;
}
