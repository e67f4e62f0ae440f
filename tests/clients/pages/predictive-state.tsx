// Lists every state that CopilotKit's agent has had, below the provider that the address names.

import { server, chat } from "./settings";
import { CopilotKit, CopilotKitProvider, useAgent, useCopilotKit } from "@copilotkit/react-core/v2";
import { usePredictedState } from "documented/usePredictedState";
import { type PropsWithChildren, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const given = new URLSearchParams(location.search);

function States() {
  const { copilotkit } = useCopilotKit();
  const { agent, isReady } = useAgent();
  const [states, setStates] = useState<string[]>([]);
  useEffect(() => {
    agent.threadId = chat;
    const { unsubscribe } = agent.subscribe({
      onStateChanged: ({ state }) => setStates((before) => [...before, JSON.stringify(state)]),
    });
    return unsubscribe;
  }, [agent]);

  async function run() {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: given.get("prompt") ?? "" });
    await copilotkit.runAgent({ agent });
    setStates((before) => [...before, "the end"]);
  }

  return (
    <>
      <button disabled={!isReady} onClick={run}>
        Run
      </button>
      <ol>
        {states.map((state, index) => (
          <li key={index}>{state}</li>
        ))}
      </ol>
    </>
  );
}

function Predicted() {
  usePredictedState();
  return null;
}

const PROVIDERS = {
  CopilotKit: (props: PropsWithChildren) => (
    <CopilotKit {...settings} showDevConsole={false} children={<>{props.children}</>} />
  ),
  CopilotKitProvider: (props: PropsWithChildren) => <CopilotKitProvider {...settings} {...props} />,
  "CopilotKitProvider and the hook": ({ children }: PropsWithChildren) => (
    <CopilotKitProvider {...settings}>
      <Predicted />
      {children}
    </CopilotKitProvider>
  ),
};
const settings = { runtimeUrl: `${server}/api/copilotkit`, enableInspector: false };
const Provider = PROVIDERS[given.get("provider") as keyof typeof PROVIDERS];

createRoot(document.getElementById("root")!).render(
  <Provider>
    <States />
  </Provider>,
);
