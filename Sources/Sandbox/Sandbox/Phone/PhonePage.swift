/// A phone of the web page: the available actions, the latest outcome, and every request with its reply.
struct PhonePage {
    let app: AppServer
    let account: Account
    let phone: Phone
    /// The person's groups, as reported by the server for this page.
    let groups: Result<[PhoneSession.Group]?, any Error>
    /// The requests that obtained them.
    let calls: [PhoneCall]
    /// The latest invitation, by anybody.
    let invitation: String?

    private var address: String { PageLayout.address(of: account) + "phone" }

    /// The page.
    func response() -> SandboxResponse {
        let name = PageText.escape(account.name)
        var html = "<header><p><a href=\"/sandbox\">All people and their storage</a></p>"
        html += "<h1>\(name)’s phone \(PageLayout.badge(account.provider))</h1>"
        html += "<p class=meta>It uses <code>\(PageText.escape(app.address))</code> as the app would, "
        html += "as device <code>\(phone.device)</code>.</p></header><main>"
        html += outcome
        switch groups {
        case .success(let groups?):
            for group in groups { html += section(group) }
            html += "<section><div class=steps>"
            html += form(
                "wait", "Wait for a change",
                "The page reloads as soon as another member changes something, or after 50 seconds.", fields: "")
            html += "</div></section>"
            html += "<section><details><summary>Join another group</summary>\(redeemForm)</details></section>"
        case .success(nil): html += newcomer
        case .failure(let error):
            let sentence = (error as? PhoneSession.Failure)?.sentence ?? "\(error)"
            html += "<section class=\"notice bad\" id=problem><p>\(PageText.escape(sentence))</p></section>"
        }
        html += conversation
        return PageLayout.response("\(account.name)’s phone", body: html + "</main>")
    }

    private var outcome: String {
        guard let outcome = phone.outcome else { return "" }
        var html = "<section class=\"notice\(outcome.isSuccess ? "" : " bad")\" id=outcome>"
        html += "<p>\(PageText.escape(outcome.sentence))</p>"
        if let download = phone.download {
            let (content, isWhole) = download.shown
            switch content {
            case .picture:
                html += "<img class=whole src=\"\(address)/download\" alt=\"The downloaded picture\">"
            case .text(let text): html += "<pre>\(PageText.escapeLines(text))</pre>"
            case .bytes: html += "<p class=empty>Neither a picture nor text.</p>"
            }
            if !isWhole, case .text = content { html += "<p class=empty>The beginning of the text.</p>" }
        }
        return html + "</section>"
    }

    /// The section for a person whom the server does not know.
    private var newcomer: String {
        var html = "<section><h2>The server does not know \(PageText.escape(account.name)) yet</h2><div class=steps>"
        if account.provider.hasStorage {
            html += form(
                "sign-up", "Sign up", "With the storage at \(account.provider.title).",
                fields: Self.field("group", "First group", value: "\(account.name)’s friends")
                    + Self.field("folder", "Folder in the storage", value: "Shared files"))
        }
        html += redeemForm
        return html + "</div></section>"
    }

    private var redeemForm: String {
        form(
            "redeem", "Accept an invitation",
            account.provider.hasStorage
                ? "Files that others share stay in their own storage." : "Files will be in the inviter's storage.",
            fields: Self.field("invitation", "Invitation code", value: invitation ?? ""))
    }

    private func section(_ group: PhoneSession.Group) -> String {
        let permission = group.json["permission"]?.string ?? ""
        let members = group.json["sharingGroupUsers"]?.array?.compactMap { $0["name"]?.string } ?? []
        let name = group.json["sharingGroupName"]?.string ?? "A group without a name"
        var html = "<section><h2>\(PageText.escape(name))</h2><p class=meta>"
        html += "\(members.map(PageText.escape).joined(separator: ", ")) · permission "
        html += "\(PageText.escape(permission)) · master version \(group.masterVersion)</p>"
        if group.files.isEmpty { html += "<p class=empty>No files.</p>" }
        html += "<ul class=files>"
        for file in group.files { html += item(file, group) }
        html += "</ul>"
        let field = "<input type=hidden name=group value=\"\(PageText.escape(group.uuid))\">"
        if permission != "read" {
            html += "<h3>Share</h3><div class=steps>"
            html += form(
                "text", "Share a text", nil,
                fields: field + "<label>Text <textarea name=text maxlength=20000 required></textarea></label>")
            html += form(
                "file", "Share a file", nil, isFile: true,
                fields: field
                    + "<label>Picture (JPEG) or text, at most \(PageText.size(PhoneSession.longestFile))"
                    + " <input type=file name=file accept=\"image/jpeg,text/plain\" required></label>")
            if permission == "admin" {
                html += form(
                    "invite", "Invite somebody", nil,
                    fields: field + "<label>Permission <select name=permission><option>write<option>read"
                        + "<option>admin</select></label>")
            }
            html += "</div>"
        }
        return html + "</section>"
    }

    private func item(_ file: JSONValue, _ group: PhoneSession.Group) -> String {
        let uuid = file["fileUUID"]?.string ?? ""
        var html = "<li><b>\(PageText.escape(file["mimeType"]?.string ?? "")), version "
        html += "\(file["fileVersion"]?.int ?? 0)</b><small>\(PageText.escape(String(uuid.prefix(8))))… · "
        html += "\(PageText.escape(String((file["updateDate"]?.string ?? "").prefix(16)).replacing("T", with: " ")))"
        html += "</small><form class=inline method=post action=\"\(address)/download\">"
        html += "<input type=hidden name=group value=\"\(PageText.escape(group.uuid))\">"
        html += "<input type=hidden name=file value=\"\(PageText.escape(uuid))\">"
        return html + "<button class=quiet>Download</button></form></li>"
    }

    private func form(
        _ action: String, _ title: String, _ note: String?, isFile: Bool = false, fields: String
    ) -> String {
        var html = "<form method=post action=\"\(address)/\(action)\" id=\(action)"
        html += "\(isFile ? " enctype=multipart/form-data" : "")><h3>\(title)</h3>"
        if let note { html += "<p class=meta>\(PageText.escape(note))</p>" }
        return html + "\(fields)<p><button>\(title)</button></p></form>"
    }

    private static func field(_ name: String, _ label: String, value: String) -> String {
        "<label>\(label) <input name=\(name) value=\"\(PageText.escape(value))\" maxlength=255 required autocomplete=off>"
            + "</label>"
    }

    private var conversation: String {
        var html = "<section id=conversation><h2>Requests and replies</h2>"
        if !phone.calls.isEmpty {
            html += "<h3>For the last action</h3>"
            for call in phone.calls { html += CallTranscript(call: call).html }
        }
        html += "<h3>For this page</h3>"
        for call in calls { html += CallTranscript(call: call).html }
        return html + "</section>"
    }
}

/// One request and its reply, collapsed to a line.
struct CallTranscript {
    let call: PhoneCall
    /// The number of characters shown of a header's value: tokens are long.
    private static let shownValue = 60
    /// The number of characters shown of a reply.
    private static let shownBody = 4_000

    /// The markup.
    var html: String {
        let endpoint = call.target.prefix { $0 != "?" }
        var html = "<details><summary><code>\(call.method) \(PageText.escape(String(endpoint)))</code> "
        html +=
            "<span class=\"status\(call.status == 200 ? "" : " bad")\">\(call.status.map(String.init) ?? "no reply")"
        return html + "</span></summary><pre>\(PageText.escapeLines(request))</pre>"
            + "<pre>\(PageText.escapeLines(reply))</pre></details>"
    }

    private var request: String {
        var text = "\(call.method) \(call.target)\n"
        for (name, value) in call.headers { text += "\(name): \(Self.shortened(value))\n" }
        if call.sentBytes > 0 { text += "\n(\(PageText.size(call.sentBytes)) of contents)" }
        return text
    }

    private var reply: String {
        switch call.outcome {
        case .failure(let error): return error.reason
        case .success(let reply):
            var text = "\(reply.status)\n"
            for (name, value) in reply.headers where name.lowercased().hasPrefix("syncserver-") {
                text += "\(name): \(value)\n"
            }
            if reply.header("syncserver-message-params") != nil {
                return text + "\n(\(PageText.size(reply.body.count)) of contents)"
            }
            let body =
                (try? JSONValue(parsing: reply.body))?.text(isPretty: true)
                ?? String(decoding: reply.body, as: UTF8.self)
            return text + "\n" + body.prefix(Self.shownBody) + (body.count > Self.shownBody ? "…" : "")
        }
    }

    private static func shortened(_ value: String) -> String {
        value.count > shownValue ? "\(value.prefix(shownValue))… (\(value.utf8.count) characters)" : value
    }
}

/// A form of one of the pages for people, sent by a browser.
struct PageForm {
    /// The value of each field.
    private var values: [String: [UInt8]] = [:]
    /// The media types of file fields.
    private var types: [String: String] = [:]

    /// The maximum size of everything except a file's contents, in bytes.
    private static let overhead = 65_536
    private static let types: Set<String> = ["application/x-www-form-urlencoded", "multipart/form-data"]

    /// Whether the request contains a form.
    static func isForm(_ request: SandboxRequest) -> Bool { types.contains(request.mediaType) }

    /// Whether the form comes from a page of this very origin. Browsers report the origin with every form (Fetch,
    /// section 3.2), and no page can change that.
    static func isFromOwnPage(_ request: SandboxRequest) -> Bool {
        guard let origin = request.header("origin"), let host = request.header("host") else { return false }
        return origin.lowercased() == "http://" + host.lowercased()
    }

    /// Reads the form.
    /// - Throws: ``ControlError/badRequest(_:)``, ``RequestBodyError``.
    init(_ request: SandboxRequest) throws {
        guard request.mediaType == "multipart/form-data" else {
            for item in try request.readForm()?.items ?? [] { values[item.name] = Array(item.value.utf8) }
            return
        }
        let bytes: [UInt8]
        do { bytes = try request.body.readAll(limit: PhoneSession.longestFile + Self.overhead) } catch .tooLong {
            throw ControlError.badRequest("the file is larger than \(PageText.size(PhoneSession.longestFile))")
        }
        do throws(MultipartBody.Malformed) {
            let body = try MultipartBody(
                "form-data", contentType: request.header("content-type") ?? "", body: bytes)
            for part in body.parts {
                guard let name = Self.name(part.headers["content-disposition"] ?? "") else { continue }
                values[name] = Array(part.content)
                types[name] = part.headers["content-type"]
            }
        } catch {
            throw ControlError.badRequest(error.message)
        }
    }

    /// The trimmed text of a field.
    /// - Throws: ``ControlError/badRequest(_:)`` if it is missing, empty or not text.
    subscript(_ name: String) -> String {
        get throws(ControlError) {
            let text = values[name].flatMap { String(validating: $0, as: UTF8.self) }
            let blanks: Set<Character> = [" ", "\t", "\r", "\n", "\r\n"]
            guard var trimmed = text?[...] else { throw .badRequest("the field \(name) is missing") }
            while let first = trimmed.first, blanks.contains(first) { trimmed.removeFirst() }
            while let last = trimmed.last, blanks.contains(last) { trimmed.removeLast() }
            guard !trimmed.isEmpty else { throw .badRequest("the field \(name) is empty") }
            return String(trimmed)
        }
    }

    /// The file in a field, with the type reported by the browser.
    func file(_ name: String) throws(ControlError) -> (contents: [UInt8], type: String) {
        guard let contents = values[name], let type = types[name] else {
            throw .badRequest("no file was chosen")
        }
        return (contents, type.prefix { $0 != ";" }.lowercased())
    }

    /// The `name` of a `Content-Disposition` (RFC 7578, section 4.2). The names are those of our own pages.
    private static func name(_ disposition: String) -> String? {
        disposition.firstMatch(of: /;\s*name="([^"]*)"/).map { String($0.1) }
    }
}
