import { useEffect, useRef, useState } from "react";
import { Editor } from "@/panes/editor";
import "@/content/code.css";

interface CodeViewProps {
  code: string;
  language?: string;
  /** The accessible name. */
  label: string;
}

/** Code with numbered lines. One component, one piece of code. */
export default function CodeView({ code, language, label }: CodeViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor>();
  useEffect(() => {
    if (!box.current) return;
    const opened = new Editor(box.current);
    setEditor(opened);
    return () => opened.destroy();
  }, []);
  useEffect(() => editor?.show(language, label), [editor, language, label]);
  useEffect(() => editor?.write(code), [editor, code]);
  return <div ref={box} className="min-h-0 flex-1 overflow-hidden font-mono" />;
}
