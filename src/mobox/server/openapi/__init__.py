"""The HTTP API as an OpenAPI document and as a page, from one table of routes."""

from mobox.server.openapi.document import Error, ErrorBody, Parameter, Route, document
from mobox.server.openapi.page import docs_page

__all__ = ["Error", "ErrorBody", "Parameter", "Route", "docs_page", "document"]
