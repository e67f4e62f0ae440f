import { MessageSquarePlus } from "lucide-react";
import { chats } from "@/state/chats";
import { navigate } from "@/state/route";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import type { Recording } from "@/view/recording";

/** Stores the recording as a chat, and opens it. */
export function KeepButton({ recording }: { recording: Recording }) {
  const { busy, problem, send } = useSending();
  const keep = async () => {
    const id = await recording.keep();
    void chats.refresh();
    navigate({ page: "chat", id });
  };
  return (
    <>
      <Button disabled={busy} title={strings.viewing.keepLine} onClick={() => send(keep)}>
        <MessageSquarePlus aria-hidden className="size-4" />
        {busy ? strings.viewing.keeping : strings.viewing.keep}
      </Button>
      {problem && (
        <p role="alert" className="w-full text-block text-bad">
          {problem}
        </p>
      )}
    </>
  );
}
