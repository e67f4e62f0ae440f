import { type FormEvent, useId, useState } from "react";
import { brand } from "@/brand";
import { credentials } from "@/key";
import { Logo } from "@/shell/Logo";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface Props {
  /** The entered key was refused. */
  isRefused: boolean;
  /** The server is embedded in an app with its own sign-in, which may accept tokens. */
  isOfApp: boolean;
}

/** The sign-in form. */
export function KeyForm({ isRefused, isOfApp }: Props) {
  const words = isOfApp ? strings.shell.token : strings.shell.key;
  const [key, setKey] = useState("");
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim()) credentials.unlock(key.trim());
  };
  return (
    <main className="flex h-dvh items-center justify-center p-4">
      <form onSubmit={submit} className="w-full max-w-sm rounded-large border bg-ground p-6">
        <p className="mb-4 flex items-center gap-2 font-semibold">
          <Logo />
          {brand.name}
        </p>
        <h1 className="text-lg font-semibold">{strings.shell.signInTitle}</h1>
        <p id={`${id}-line`} className="mt-1 text-block text-ink-2">
          {words.line}
        </p>
        <label htmlFor={id} className="mt-4 block text-block font-medium">
          {words.name}
        </label>
        <input
          id={id}
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: there is nothing else on the page
          autoFocus
          required
          aria-describedby={isRefused ? `${id}-problem` : `${id}-line`}
          aria-invalid={isRefused}
          value={key}
          onChange={(event) => setKey(event.target.value)}
          className="mt-1 min-h-10 w-full rounded-lg border bg-ground px-3 max-md:min-h-11 max-md:text-[16px]"
        />
        {isRefused && (
          <p id={`${id}-problem`} role="alert" className="mt-2 text-block text-bad">
            {words.refused}
          </p>
        )}
        <Button kind="solid" type="submit" disabled={!key.trim()} className="mt-4 w-full">
          {strings.shell.signIn}
        </Button>
      </form>
    </main>
  );
}
