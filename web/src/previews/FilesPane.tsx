import { useEffect, useState } from "react";
import { FileList } from "@/previews/FileList";
import { Preview } from "@/previews/Preview";
import { type PreviewedFile, preview } from "@/state/preview";
import { useStore } from "@/store";

/** The files of a chat, or one of them. */
export default function FilesPane(props: { chatId: string; isWorking: boolean }) {
  const { file } = useStore(preview.store);
  const [left, setLeft] = useState<PreviewedFile>();
  const back = () => {
    setLeft(file);
    preview.close();
  };
  // The next chat starts with its own list.
  useEffect(() => preview.close, []);
  return file ? <Preview file={file} onBack={back} /> : <FileList {...props} left={left} />;
}
