"""The HTTP interface, told to machines and to people from one table of routes."""

from mobox.server.openapi.document import Error, ErrorBody, Parameter, Route, document
from mobox.server.openapi.page import docs_page

__all__ = ["Error", "ErrorBody", "Parameter", "Route", "docs_page", "document"]
