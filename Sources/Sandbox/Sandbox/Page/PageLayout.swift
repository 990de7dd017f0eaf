import FoundationEssentials
import Posix

/// The common parts of all pages for people: the frame, the style, and the headers that block scripts.
///
/// The pages have no scripts. People's contents are written as escaped text or referenced as pictures, and the policy
/// would stop any script that still got in.
enum PageLayout {
    /// A page with this title and body.
    /// - Parameter body: markup.
    static func response(_ title: String, status: Int = 200, body: String) -> SandboxResponse {
        var html = "<!doctype html><html lang=en><meta charset=utf-8><title>\(PageText.escape(title))</title>\n"
        html += "<meta name=viewport content=\"width=device-width,initial-scale=1\"><link rel=icon href=\"data:,\">"
        html += "<style>\n\(style)</style>\n\(body)</html>\n"
        return SandboxResponse(
            status,
            headers: [
                ("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                // `no-referrer` would make browsers send `Origin: null` with forms.
                ("Referrer-Policy", "same-origin"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; form-action 'self'; "
                        + "base-uri 'none'; frame-ancestors 'none'"
                ),
            ], body: Array(html.utf8))
    }

    /// The address of an account's own pages, with a trailing slash.
    static func address(of account: Account) -> String { "/sandbox/accounts/\(PercentEncoding.encode(account.id))/" }

    /// A provider's name in its colour.
    static func badge(_ provider: Provider) -> String {
        "<span class=\"badge \(provider.rawValue)\">\(provider.title)</span>"
    }

    private static let style = """
        :root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:#1a66d6;--good:#1a7f4b;--bad:#c0392b}
        *{box-sizing:border-box}
        body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:68rem;overflow-wrap:anywhere;padding:1.5rem}
        h1{font-size:1.6rem;line-height:1.25;margin:0}h2{font-size:1.2rem;margin:0}h3{font-size:1rem;margin:1rem 0 .5rem}
        p{margin:.3rem 0}a{color:var(--accent)}
        header{border-bottom:1px solid var(--line);margin-bottom:1rem;padding-bottom:.8rem}
        section{border:1px solid var(--line);border-radius:.6rem;margin:1rem 0;padding:1rem 1.2rem}
        .badge{border-radius:1rem;color:#fff;display:inline-block;font-size:.75rem;font-weight:600;line-height:1.4;padding:.15rem .6rem;vertical-align:middle}
        .google{background:#1a73e8}.facebook{background:#0866ff}.dropbox{background:#0061fe}
        .microsoft{background:#0f6cbd}.apple{background:#333}.webdav{background:#0a6aa8}
        .meta,.empty,small{margin:.2rem 0;opacity:.75}small{display:block;font-size:.8rem}
        .top{align-items:start;display:flex;flex-wrap:wrap;gap:.4rem 1rem;justify-content:space-between}
        .files{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fill,minmax(min(10.5rem,45%),1fr));list-style:none;margin:0;padding:0}
        .files li{background:var(--soft);border-radius:.5rem;overflow:hidden;padding:.6rem}
        .files a{color:inherit;display:block;text-decoration:none}.files a:hover b{text-decoration:underline}
        .files b{display:block;font-size:.8rem;font-weight:600}
        .tile{background:var(--soft);border-radius:.3rem;display:block;height:8rem;margin:0 0 .4rem;overflow:hidden;width:100%}
        img.tile{object-fit:cover}
        pre{background:var(--soft);border-radius:.3rem;font:.85rem/1.45 ui-monospace,monospace;margin:.4rem 0;padding:.6rem;white-space:pre-wrap}
        pre.tile{font-size:.7rem;margin:0 0 .4rem;padding:.4rem .5rem}
        .kind{align-items:center;display:flex;font-size:1.1rem;justify-content:center;opacity:.6}
        .trashed{opacity:.45}
        .whole{border-radius:.3rem;display:block;height:auto;max-height:80vh;max-width:100%}
        form{margin:.6rem 0}.inline{display:inline;margin:0}
        .steps{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr))}
        .steps form{border:1px solid var(--line);border-radius:.5rem;margin:0;padding:.8rem}
        .steps h3{margin:0 0 .4rem}
        label{display:block;font-size:.85rem;margin:.4rem 0}
        input,select,textarea{background:Field;border:1px solid #888;border-radius:.4rem;color:FieldText;display:block;font:inherit;margin-top:.15rem;min-height:2.6rem;padding:.4rem .6rem;width:100%}
        textarea{min-height:5.5rem;resize:vertical}
        button,.button{background:var(--accent);border:1px solid transparent;border-radius:.4rem;color:#fff;cursor:pointer;display:inline-block;font:inherit;font-weight:600;min-height:2.6rem;padding:.45rem 1rem;text-decoration:none}
        button.quiet{background:none;border-color:var(--accent);color:var(--accent);margin-top:.4rem;width:100%}
        button:focus-visible,a:focus-visible,summary:focus-visible{outline:3px solid #f5a623;outline-offset:2px}
        .notice{border-left:.3rem solid var(--good)}.notice.bad{border-color:var(--bad)}
        code{font-family:ui-monospace,monospace;font-size:.9em}
        #conversation details{border-top:1px solid var(--line);padding:.4rem 0}
        summary{cursor:pointer}summary code{font-size:.85rem}
        .status{color:var(--good);font-weight:600}.status.bad{color:var(--bad)}
        ol{padding-left:1.3rem}
        @media(max-width:30rem){body{padding:.8rem}section{padding:.8rem}h1{font-size:1.35rem}}
        @media(prefers-color-scheme:dark){:root{--accent:#6ea8ff;--good:#5cc98f;--bad:#ff8a7a}button,.button{color:#111}}

        """
}

extension Provider {
    /// The provider's own name.
    var title: String { self == .webdav ? "Nextcloud" : rawValue.capitalized }

    /// Whether its accounts have storage, so that their users can sign up and own files.
    var hasStorage: Bool {
        switch self {
        case .google, .dropbox, .microsoft, .webdav: true
        case .facebook, .apple: false
        }
    }
}

/// Formats texts and sizes for the pages for people.
enum PageText {
    /// Text that is safe inside elements and quoted attributes; invisible and direction-changing characters are written
    /// as numbers.
    static func escape(_ text: String) -> String {
        let html: HTMLText = "\(text)"
        return html.markup
    }

    /// Text of several lines, for `pre`: line ends and tabs are kept.
    static func escapeLines(_ text: String) -> String {
        text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }.map { line in
            let line = line.last == "\r" ? line.dropLast() : line
            return line.split(separator: "\t", omittingEmptySubsequences: false).map { escape(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// `no file`, `1 file`, `2 files`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number == 0 ? "no" : String(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A size for people: 1,000 bytes are 1 kB.
    static func size(_ bytes: Int) -> String {
        var number = Double(bytes)
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if number < 999.5 || unit == "TB" {
                let tenths = (number * 10).rounded()
                let isWhole = number >= 99.5 || tenths.remainder(dividingBy: 10) == 0
                return isWhole ? "\(Int(number.rounded())) \(unit)" : "\(tenths / 10) \(unit)"
            }
            number /= 1_000
        }
        return ""
    }
}
