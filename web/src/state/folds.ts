import { isBoolean, stored } from "@/state/stored";

/** Reasoning stays expanded when it ends, and is expanded in reopened chats. */
export const keepOpen = stored("mobox:keep-blocks-open", false, isBoolean);

/** Each step of an answer is a block of its own; else the work before a text is one line. */
export const everyStep = stored("mobox:show-every-step", false, isBoolean);

/** Maximum stored choices; the oldest are dropped. */
const MOST = 500;

type Choices = Record<string, boolean>;

const isChoices = (value: unknown): value is Choices =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(isBoolean);

const choices = stored<Choices>("mobox:folds", {}, isChoices, () => sessionStorage);

/** The user's choice for a block, which wins over all else during the session. */
export function useChoice(id: string): readonly [boolean | undefined, (open: boolean) => void] {
  const [all] = choices.use();
  const choose = (open: boolean) => {
    const { [id]: _before, ...others } = choices.get();
    const kept = Object.entries(others).slice(1 - MOST);
    choices.set({ ...Object.fromEntries(kept), [id]: open });
  };
  return [Object.hasOwn(all, id) ? all[id] : undefined, choose];
}

/** Those that the user opened. */
export function useOpened(ids: string[]): ReadonlySet<string> {
  const [all] = choices.use();
  return new Set(ids.filter((id) => Object.hasOwn(all, id) && all[id]));
}

/** Whether the user opened or closed one of these: their container then stays open. */
export function useTouched(ids: string[]): boolean {
  const [all] = choices.use();
  return ids.some((id) => Object.hasOwn(all, id));
}
