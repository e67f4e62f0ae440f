/** Pictures in a tool's output, as providers and MCP servers write them. */
import { imageSource } from "@/content/urls";
import { type Fields, fieldsOf, isFields, textOf } from "@/json";

const MOST = 8;

/** The sources of the pictures, as far as the page may load them. */
export function picturesIn(output: unknown): string[] {
  const values = Array.isArray(output) ? output.slice(0, 50) : [output];
  return values
    .filter(isFields)
    .flatMap((value) => pictureIn(value) ?? [])
    .slice(0, MOST);
}

function pictureIn(value: Fields): string | undefined {
  const source = fieldsOf(value.source);
  const link = fieldsOf(value.image_url).url ?? value.image_url ?? source.url;
  const data = textOf(source.data) ?? textOf(value.data);
  const type = textOf(source.media_type) ?? textOf(value.mimeType) ?? textOf(value.media_type);
  const isPicture = type?.startsWith("image/") === true;
  const address = textOf(link) ?? (data && isPicture ? `data:${type};base64,${data}` : undefined);
  return address === undefined ? undefined : imageSource(address);
}
