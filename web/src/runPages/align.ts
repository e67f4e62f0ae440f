import type { Span } from "@/inspector/timeline/spans";

/** A step of one run or of both, side by side. */
export interface Pair {
  key: string;
  /** From 1 on. */
  level: number;
  first?: Span;
  second?: Span;
}

/** More pairs of siblings are not compared with each other, only in order. */
const MOST = 250_000;

const isAlike = (one: Span, other: Span): boolean =>
  one.kind === other.kind && one.name === other.name;

type Sides = [first: Span | undefined, second: Span | undefined];

/** The steps of two runs as one tree: steps of the same kind and name are paired, in order. */
export function alignedSteps(first: Span, second: Span): Pair[] {
  const pairs: Pair[] = [];
  const next: { sides: Sides; level: number }[] = [{ sides: [first, second], level: 1 }];
  for (let at = next.pop(); at; at = next.pop()) {
    const [one, other] = at.sides;
    const level = at.level;
    pairs.push({ key: `${one?.key ?? ""}|${other?.key ?? ""}`, level, first: one, second: other });
    const below = siblings(one?.children ?? [], other?.children ?? []);
    for (const sides of below.reverse()) next.push({ sides, level: level + 1 });
  }
  return pairs;
}

function siblings(ones: readonly Span[], others: readonly Span[]): Sides[] {
  const common = ones.length * others.length > MOST ? inOrder(ones, others) : longest(ones, others);
  const sides: Sides[] = [];
  let [i, j] = [0, 0];
  for (const [one, other] of [...common, [ones.length, others.length] as const]) {
    while (i < one) sides.push([ones[i++], undefined]);
    while (j < other) sides.push([undefined, others[j++]]);
    if (one < ones.length) sides.push([ones[i++], others[j++]]);
  }
  return sides;
}

type Indexes = readonly [one: number, other: number];

/** The longest common subsequence. */
function longest(ones: readonly Span[], others: readonly Span[]): Indexes[] {
  const width = others.length + 1;
  const lengths = new Uint32Array((ones.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = ones.length - 1; i >= 0; i--)
    for (let j = others.length - 1; j >= 0; j--)
      lengths[i * width + j] = alike(ones[i], others[j])
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
  const common: Indexes[] = [];
  for (let [i, j] = [0, 0]; i < ones.length && j < others.length; ) {
    if (alike(ones[i], others[j])) common.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return common;
}

function inOrder(ones: readonly Span[], others: readonly Span[]): Indexes[] {
  const length = Math.min(ones.length, others.length);
  return Array.from({ length }, (_, at) => [at, at] as const).filter(([i, j]) =>
    alike(ones[i], others[j]),
  );
}

const alike = (one: Span | undefined, other: Span | undefined): boolean =>
  one !== undefined && other !== undefined && isAlike(one, other);
