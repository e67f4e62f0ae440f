"""The Vercel AI SDK: `useChat` and everything else that reads a UI message stream."""

from mobox.formatters.ai_sdk.formatter import AISDKFormatter

__all__ = ["AISDKFormatter"]
