import { locale } from "@/language";

const numbers = new Intl.NumberFormat(locale);

/** A number in English text. */
export const number = (count: number): string => numbers.format(count);
