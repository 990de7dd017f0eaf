/// A phone of the page for people: the available actions, the latest outcome, and every request with its reply.
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
                ? "Shared files of others stay in their storage." : "Files will be in the inviter's storage.",
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
