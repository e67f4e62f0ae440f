import { useEffect, useState } from "react";

/** Code that is loaded when it is first needed. Once it is there, it is there at once. */
export interface Loadable<T> {
  load: () => Promise<T>;
  /** The code; undefined until it has loaded, or if it could not be. */
  use: () => T | undefined;
}

export function loadable<T>(from: () => Promise<T>): Loadable<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;
  const load = () => {
    loading ??= from().then(
      (value) => {
        loaded = value;
        return value;
      },
      (error: unknown) => {
        loading = undefined; // tried again by the next one that needs it
        throw error;
      },
    );
    return loading;
  };
  const use = () => {
    const [value, setValue] = useState(() => loaded);
    useEffect(() => {
      if (value !== undefined) return;
      let wanted = true;
      load().then(
        (code) => wanted && setValue(() => code),
        () => {},
      );
      return () => {
        wanted = false;
      };
    }, [value]);
    return value;
  };
  return { load, use };
}
