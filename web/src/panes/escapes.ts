/**
 * What programs print, made harmless for a terminal that shows what many of them printed.
 *
 * Rule 1: only what is named here goes through: colours, and moving and erasing within what this
 *         program printed itself. So nothing reaches the clipboard, the title, a link or an input,
 *         nothing is asked that a terminal would answer, and nobody else's output is overwritten.
 * Rule 2: nothing is printed so that it cannot be seen.
 * Rule 3: what we say before it in its first line stays: there it writes on, and goes back no further
 *         than to a line of its own.
 * Rule 4: fed in pieces it gives what it gives in one go, as far as that is decided.
 */

export const ESC = "\u001b";
/** More than any sequence that means something. */
const LONGEST = 64;

type State = "text" | "escape" | "designation" | "sequence" | "string" | "stringEscape";

/** What ends text; each is a state that begins, or a character that is written instead. */
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

/** The control characters, and those that turn the direction of writing. */
function isControl(code: number): boolean {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

export class EscapeFilter {
  #state: State = "text";
  #sequence = "";
  /** Where we are, in lines below the first one that this program wrote. */
  #row = 0;
  #lowest = 0;
  /** It went back to the beginning of our line; whatever comes next has a line of its own. */
  #returns = false;

  /** `isBehind`: something stands before it in its first line. */
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

  /** Back to where the next program may write: its colours, and its place. */
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

  /** Leaves our line, if it has gone back in it. */
  #ownLine(): string {
    if (!this.#returns) return "";
    this.#returns = false;
    this.#row = this.#lowest = 1;
    return "\n";
  }

  /** Of what is left out as a whole. */
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

  /** An escape ends a string, whatever it begins. */
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

  /** How far we may go: never out of what this program wrote. */
  #move = (lines: number): number => {
    const first = this.isBehind && this.#row > 0 ? 1 : 0;
    const row = Math.min(Math.max(this.#row + lines, first), this.#lowest);
    const moved = row - this.#row;
    this.#row = row;
    return moved;
  };
}

/** Whether it leaves alone what stands before it in the line. */
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

/** By their last letter, the sequences that go through. */
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
/** How many numbers follow 38, 48 and 58, by the one that comes next. */
const COLOUR = new Set(["38", "48", "58"]);
const NUMBERS: Record<string, number> = { "5": 2, "2": 4 };

/** Without blinking, and without letters that are not there. */
function colours(parameters: string): string[] {
  const given = parameters.split(";");
  const kept: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const each = given[at] ?? "";
    const numbers = COLOUR.has(each) ? (NUMBERS[given[at + 1] ?? ""] ?? 0) : 0;
    const colour = given.slice(at, at + numbers + 1);
    // A terminal ends a colour at a number in two parts, and takes the rest for something else.
    if (numbers && !colour.every((number) => /^\d*$/.test(number))) return [];
    if (numbers) kept.push(...colour);
    else if (!HIDING.has(each.replace(/^0+(?=\d)|:.*/g, ""))) kept.push(each);
    at += numbers;
  }
  return kept;
}
