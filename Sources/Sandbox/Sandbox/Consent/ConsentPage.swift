internal import FoundationEssentials

/// The page on which a person chooses an account and authorizes an app, or refuses: one form, without scripts.
struct ConsentPage {
    private let provider: Provider
    private let asked: AuthorizationRequest
    private let accounts: [Account]

    init(_ endpoint: some AuthorizationEndpoint, _ asked: AuthorizationRequest) {
        provider = endpoint.provider
        self.asked = asked
        let provider = provider
        accounts = endpoint.server.withState { state in
            state.accountOrder.compactMap { state.accounts[$0] }.filter { $0.provider == provider }
        }
    }

    /// The form, which is submitted to the URL from which it was loaded.
    func response(at request: SandboxRequest) -> SandboxResponse {
        let escape = PageText.escape
        var html = "<h1>\(escape(asked.appName)) wants to use your \(Self.name(provider)) account</h1>"
        html += "<form method=post action=\"\(escape(request.path + "?" + request.queryText))\">"
        html += "<p><label>Account <select name=account>"
        for account in accounts.reversed() {
            let isHinted = asked.loginHint.map { $0 == account.email || $0 == account.id } ?? false
            html += "<option value=\"\(escape(account.id))\"\(isHinted ? " selected" : "")>"
            html += "\(escape(account.name)) (\(escape(account.email)))</option>"
        }
        html += "</select></label></p><ul>"
        for scope in asked.scopes { html += "<li>\(escape(scope))</li>" }
        html += "</ul><p><button name=decision value=allow\(accounts.isEmpty ? " disabled" : "")>Allow</button> "
        html += "<button name=decision value=deny>Cancel</button></p></form>"
        if accounts.isEmpty { html += "<p>The sandbox has no \(Self.name(provider)) account yet.</p>" }
        return Self.page(200, html, provider: provider)
    }

    /// Shows why the request was rejected.
    static func failure(_ status: Int, _ code: String, _ text: String, provider: Provider) -> SandboxResponse {
        let escape = PageText.escape
        return page(status, "<h1>Error \(status): \(escape(code))</h1><p>\(escape(text))</p>", provider: provider)
    }

    /// Shows the outcome if no app can be informed.
    static func message(_ text: String, provider: Provider) -> SandboxResponse {
        page(200, "<p>\(PageText.escape(text))</p>", provider: provider)
    }

    private static func name(_ provider: Provider) -> String { provider.rawValue.capitalized }

    private static func page(_ status: Int, _ html: String, provider: Provider) -> SandboxResponse {
        let head = """
            <!doctype html><html lang=en><meta charset=utf-8><title>\(name(provider)) (sandbox)</title>
            <meta name=viewport content="width=device-width,initial-scale=1"><style>
            :root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:32rem;padding:2rem}
            h1{font-size:1.3rem}button,select{font:inherit;padding:.3rem .8rem}</style><p>Sandbox: nothing here is real.</p>

            """
        // Without a `form-action` directive: browsers also apply it to redirects, and this form redirects to the app.
        return SandboxResponse(
            status,
            headers: [
                ("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
                ),
            ], body: Array((head + html + "</html>\n").utf8))
    }
}
