"""Agents of frameworks as functions of an app: `mobox.frameworks.langchain.agent("id", graph)`."""
