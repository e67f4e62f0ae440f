import { brand } from "@/brand";

/** The logo of the app around the page, else Mobox's. */
export function Logo({ className = "size-6" }: { className?: string }) {
  if (brand.logo) {
    return <img src={brand.logo} alt="" className={`${className} shrink-0 object-contain`} />;
  }
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32" className={`${className} shrink-0`}>
      <rect x="2" y="2" width="28" height="28" rx="8" className="fill-accent" />
      <path
        d="M8 22V11l8 7 8-7v11"
        className="fill-none stroke-accent-ink"
        strokeWidth="3"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
