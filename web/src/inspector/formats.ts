import { useEffect, useState } from "react";
import { type Format, getFormats } from "@/api";
import { OURS } from "@/inspector/entries";
import { stored } from "@/state/stored";
import { strings } from "@/strings";

/** A format and a profile of it. */
export interface Chosen {
  name: string;
  profile: string;
}

const isChosen = (value: unknown): value is Chosen =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Chosen).name === "string" &&
  typeof (value as Chosen).profile === "string";

/** As the server is asked for it. */
export const asked = ({ name, profile }: Chosen): string => (profile ? `${name}:${profile}` : name);

export function readFormat(asked: string): Chosen {
  const [name = "", profile = ""] = asked.split(":");
  return { name, profile };
}

/** What the page itself reads. */
const FIRST = readFormat(OURS);
const choice = stored<Chosen>("mobox:inspector-format", FIRST, isChosen);

export const nameOfFormat = ({ name, profile }: Chosen): string =>
  `${strings.inspector.formatNames[name] ?? name} ${profile}`.trim();

/** What there is; what the page itself reads is always there. */
const OWN: Format[] = [{ name: FIRST.name, profiles: [FIRST.profile] }];

/** The formats that the server has, and the one that the person chose, as far as it has that. */
export function useFormats() {
  const [known, setKnown] = useState<readonly Format[]>();
  const [chosen, choose] = choice.use();
  useEffect(() => {
    let wanted = true;
    getFormats()
      .then((formats) => wanted && setKnown(formats))
      .catch(() => wanted && setKnown(OWN)); // another one can be chosen when it is opened again
    return () => {
      wanted = false;
    };
  }, []);
  // Until it is known what there is, the choice is trusted: it was there when it was made.
  const isThere =
    !known ||
    known.some(({ name, profiles }) => name === chosen.name && profiles.includes(chosen.profile));
  return { formats: known, chosen: isThere ? chosen : FIRST, choose };
}
