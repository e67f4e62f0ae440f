import { useCallback, useEffect, useState } from "react";
import { getChat, getLinks, type NamedChat, Refused, revokeLink, type ShareLink } from "@/api";
import { failureMessage } from "@/failure";
import { LinkRow } from "@/shell/LinkRow";
import { NewLinkForm } from "@/shell/NewLinkForm";
import { strings } from "@/strings";
import { Dialog } from "@/ui/Dialog";

const words = strings.sharing;

interface ShareDialogProps {
  chat: NamedChat;
  onClose: () => void;
}

/** Makes, copies, lists and revokes the links by which a chat can be read. */
export function ShareDialog({ chat, onClose }: ShareDialogProps) {
  const { links, problem, add, revoke } = useLinks(chat.id);
  const lastRun = useLastRun(chat.id);
  return (
    <Dialog open onClose={onClose} title={words.title} line={words.line}>
      <NewLinkForm chatId={chat.id} lastRun={lastRun} onCreated={add} />
      {problem && (
        <p role="alert" className="mt-3 text-block text-bad">
          {problem}
        </p>
      )}
      <h3 className="mt-5 text-block font-semibold">{words.links}</h3>
      {!links && !problem && <p className="mt-1 text-block text-ink-2">{strings.panel.loading}</p>}
      {links?.length === 0 && <p className="mt-1 text-block text-ink-2">{words.none}</p>}
      <ul className="mt-1 divide-y">
        {links?.map((link) => (
          <LinkRow key={link.id} link={link} onRevoke={revoke} />
        ))}
      </ul>
    </Dialog>
  );
}

/** The links of a chat, the newest first. */
function useLinks(chatId: string) {
  const [links, setLinks] = useState<ShareLink[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isOpen = true;
    getLinks(chatId)
      .then((found) => isOpen && setLinks(found.toReversed()))
      .catch((error: unknown) => isOpen && setProblem(failureMessage(error)));
    return () => {
      isOpen = false;
    };
  }, [chatId]);
  const add = useCallback((link: ShareLink) => setLinks((all = []) => [link, ...all]), []);
  const revoke = useCallback(
    async (id: string) => {
      setProblem(undefined);
      try {
        await revokeLink(chatId, id);
      } catch (error) {
        // Another tab may have revoked it.
        if (!(error instanceof Refused && error.code === "not_found"))
          return setProblem(failureMessage(error));
      }
      setLinks((all) => all?.filter((each) => each.id !== id));
    },
    [chatId],
  );
  return { links, problem, add, revoke };
}

/** The run of the chat's last answer, which may still be written. */
function useLastRun(chatId: string): string | undefined {
  const [run, setRun] = useState<string>();
  useEffect(() => {
    let isOpen = true;
    getChat(chatId, 2)
      .then(({ activeRun, messages }) => {
        const last = messages.findLast(({ role }) => role === "assistant");
        if (isOpen) setRun(activeRun?.id ?? last?.id);
      })
      .catch(() => {}); // then only the whole chat can be shared
    return () => {
      isOpen = false;
    };
  }, [chatId]);
  return run;
}
