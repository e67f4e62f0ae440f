import "./settings";
import "documented/v1/main";
