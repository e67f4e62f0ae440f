import "./settings";
import "documented/main";
