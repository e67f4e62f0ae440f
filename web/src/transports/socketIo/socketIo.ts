export { AiSdkTransport as SocketIoTransport } from "@/transports/aiSdk";
