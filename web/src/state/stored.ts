import { useCallback, useSyncExternalStore } from "react";

/**
 * A persistent value: settings in `localStorage`, state of this tab in `sessionStorage`. All users of a
 * key share one value, other tabs included. If storage is disabled or has an invalid value, the fallback
 * is used and lives as long as the page.
 */
export interface Stored<T> {
  get(): T;
  set(value: T): void;
  use(): readonly [T, (value: T) => void];
}

export function stored<T>(
  key: string,
  fallback: T,
  isValid: (value: unknown) => value is T,
  area: () => Storage = () => localStorage,
  write: (value: T) => string = JSON.stringify,
): Stored<T> {
  const listeners = new Set<() => void>();
  let unsaved: { value: T } | undefined;
  let read: { text: string | null; value: T } | undefined;

  const get = (): T => {
    if (unsaved) return unsaved.value;
    const text = attempt(() => area().getItem(key), null);
    if (!read || read.text !== text) read = { text, value: parse(text) };
    return read.value;
  };
  const parse = (text: string | null): T => {
    const value = text === null ? undefined : attempt<unknown>(() => JSON.parse(text), text);
    return isValid(value) ? value : fallback;
  };
  const set = (value: T): void => {
    unsaved = undefined;
    const saved = attempt(() => {
      area().setItem(key, write(value));
      return true;
    }, false);
    if (!saved) unsaved = { value };
    for (const listener of listeners) listener();
  };
  const subscribe = (listener: () => void) => {
    const onStorage = (event: StorageEvent) => {
      if (event.key === key || event.key === null) listener();
    };
    listeners.add(listener);
    window.addEventListener("storage", onStorage);
    return () => {
      listeners.delete(listener);
      window.removeEventListener("storage", onStorage);
    };
  };
  const use = () => {
    const value = useSyncExternalStore(subscribe, get);
    return [value, useCallback(set, [])] as const;
  };
  return { get, set, use };
}

function attempt<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
export const oneOf =
  <T extends string>(...words: T[]) =>
  (value: unknown): value is T =>
    words.includes(value as T);
