import "./settings";
import "documented/v2/main";
