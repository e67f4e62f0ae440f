import { useEffect, useState } from "react";
import type { Format } from "@/api";
import { OURS } from "@/inspector/entries";
import type { RunSource } from "@/inspector/source";
import { stored } from "@/state/stored";
import { strings } from "@/strings";

/** A format and its profile. */
export interface Chosen {
  name: string;
  profile: string;
}

const isChosen = (value: unknown): value is Chosen =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Chosen).name === "string" &&
  typeof (value as Chosen).profile === "string";

/** The value of the request's `format` parameter. */
export const formatParameter = ({ name, profile }: Chosen): string =>
  profile ? `${name}:${profile}` : name;

export function readFormat(formatParameter: string): Chosen {
  const [name = "", profile = ""] = formatParameter.split(":");
  return { name, profile };
}

/** The format that the page itself reads. */
const FIRST = readFormat(OURS);
const choice = stored<Chosen>("mobox:inspector-format", FIRST, isChosen);

export const nameOfFormat = ({ name, profile }: Chosen): string =>
  `${strings.inspector.formatNames[name] ?? name} ${profile}`.trim();

/** The fallback list: the page's own format always exists. */
const OWN: Format[] = [{ name: FIRST.name, profiles: [FIRST.profile] }];

/** The formats of a run, and the selected one if it is among them. */
export function useFormats(source: RunSource) {
  const [known, setKnown] = useState<readonly Format[]>();
  const [chosen, choose] = choice.use();
  useEffect(() => {
    let wanted = true;
    source
      .formats()
      .then((formats) => wanted && setKnown(formats))
      .catch(() => wanted && setKnown(OWN)); // the list is loaded again when the inspector is opened
    return () => {
      wanted = false;
    };
  }, [source]);
  // Until the list is loaded, trust the stored choice: it existed when it was made.
  const isThere =
    !known ||
    known.some(({ name, profiles }) => name === chosen.name && profiles.includes(chosen.profile));
  return { formats: known, chosen: isThere ? chosen : FIRST, choose };
}
