/** Numbers and plurals of German text. */
const numbers = new Intl.NumberFormat("de");
const rules = new Intl.PluralRules("de");

export const number = (count: number): string => numbers.format(count);

/** The number with the noun's form for it. */
export const counted = (count: number, one: string, other: string): string =>
  `${number(count)} ${rules.select(count) === "one" ? one : other}`;

/** A number that is written with a decimal point already. */
export const decimal = (written: string): string => written.replace(".", ",");
