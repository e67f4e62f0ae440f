import { isBoolean, stored } from "@/state/stored";

/** Blocks of thought stay open when they end, and are open when a chat is opened. */
export const keepOpen = stored("mobox:keep-blocks-open", false, isBoolean);

/** More than anybody opens and closes in a session; the oldest are forgotten. */
const MOST = 500;

type Choices = Record<string, boolean>;

const isChoices = (value: unknown): value is Choices =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(isBoolean);

const choices = stored<Choices>("mobox:folds", {}, isChoices, () => sessionStorage);

/** What a person chose for a block: it wins over all else, as long as the session lasts. */
export function useChoice(id: string): readonly [boolean | undefined, (open: boolean) => void] {
  const [all] = choices.use();
  const choose = (open: boolean) => {
    const { [id]: _before, ...others } = choices.get();
    const kept = Object.entries(others).slice(1 - MOST);
    choices.set({ ...Object.fromEntries(kept), [id]: open });
  };
  return [Object.hasOwn(all, id) ? all[id] : undefined, choose];
}

/** Whether a person opened or closed one of these: what holds them stays open then. */
export function useTouched(ids: string[]): boolean {
  const [all] = choices.use();
  return ids.some((id) => Object.hasOwn(all, id));
}
