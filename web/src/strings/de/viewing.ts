import type { Strings } from "@/strings";

export const viewing: Strings["viewing"] = {
  menu: "Aufzeichnung öffnen …",
  title: "Aufzeichnung",
  heading: "Die Ausgabe jedes Agenten ansehen",
  line: "Legen Sie eine Datei hier ab: JSON Lines eines Agenten, eine SSE-Antwort, eine Kassette oder ein heruntergeladenes Protokoll. Sie wird als Chat, Zeitleiste und Frames angezeigt. Gespeichert wird nur, was Sie behalten.",
  choose: "Datei auswählen",
  another: "Andere öffnen",
  keep: "Als Chat behalten",
  keeping: "Wird gespeichert …",
  keepLine: "Speichert die Aufzeichnung als einen Ihrer Chats",
  drop: "Ablegen, um die Aufzeichnung zu öffnen",
  back: "Zurück zu den Chats",
  framework: "Framework",
  detected: (name) => `${name} (erkannt)`,
  log: "Protokoll von Mobox",
  looksLike: (name) => `Sieht nach ${name} aus.`,
  unsupported: (name) =>
    `Das sieht nach ${name} aus, was Mobox noch nicht lesen kann. Wählen Sie ein Framework, um es zu versuchen.`,
  unknown:
    "Das Format wurde nicht erkannt. Wählen Sie das Framework, von dem die Aufzeichnung stammt.",
  reading: "Wird gelesen …",
  gone: "Die Datei kann nicht mehr gelesen werden. Wählen Sie sie noch einmal aus.",
  prompt: "Sie",
  chat: "Chat",
  inspector: "Inspektor",
};
