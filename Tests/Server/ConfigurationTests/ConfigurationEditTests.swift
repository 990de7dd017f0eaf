import Testing

@testable import Configuration

@Suite("Changing single settings in the text of a configuration")
struct ConfigurationEditTests {
    private func edited(_ text: String, _ changes: (String, String)...) throws -> String {
        var edit = try ConfigurationEdit(of: text)
        for (key, json) in changes { try edit.set(key, toJSON: json) }
        return edit.text
    }

    @Test("Values are replaced, members are added, and everything else is left as written")
    func replacement() throws {
        let text = """
            {
              "GoogleServerClientId":   "1-x",
              "allowedSignInTypes": {
                \t"Google": true
              }, "odd" :[1,
               2],

              "apiThreads":   4
            }

            """

        let result = try edited(
            text, ("GoogleServerClientId", #""2-é""#), ("allowedSignInTypes.Dropbox", "true"),
            ("DropboxAppKey", #""k""#),
            ("apns.teamId", #""T""#), ("apns.keyId", #""K""#))

        #expect(
            result == """
                {
                  "GoogleServerClientId":   "2-é",
                  "allowedSignInTypes": {
                    \t"Google": true,
                    \t"Dropbox": true
                  }, "odd" :[1,
                   2],

                  "apiThreads":   4,
                  "DropboxAppKey": "k",
                  "apns": {"teamId": "T", "keyId": "K"}
                }

                """)
    }

    @Test(
        "After the change the text contains the setting, regardless of its layout",
        arguments: [
            "{}", "{ }", #"{"a": 1}"#, "\u{FEFF}{\n\"a\": \"}{\"\n}", #"{"metrics": null}"#, #"{"metrics": {}}"#,
            #"{"metrics.directory": "/x"}"#, #"{"metrics": {"directory": null}}"#, "{\r\n  \"a\": 1\r\n}\r\n",
            #"{"metrics": { "directory" : "/old" } , "b": {"c": [ ]}}"#,
        ])
    func anyText(text: String) throws {
        let edit = try ConfigurationEdit(of: edited(text, ("metrics.directory", #""/run/m\u0022""#)))

        #expect(edit.string("metrics.directory") == "/run/m\"")
        #expect(edit.text.contains("\"a\"") == text.contains("\"a\""))
        #expect(try edited(edit.text, ("metrics.directory", #""/run/m\u0022""#)) == edit.text)
    }

    @Test("A secret's file replaces an inline secret, and a new name replaces a key's older name")
    func names() throws {
        #expect(
            try edited(#"{"GoogleServerSecret": "s", "x": 1}"#, ("GoogleServerClientSecretFile", #""f""#))
                == #"{"GoogleServerClientSecretFile": "f", "x": 1}"#)
        #expect(
            try edited(#"{"apns": {"privateKey": "s"}}"#, ("apns.privateKeyFile", #""f""#))
                == #"{"apns": {"privateKeyFile": "f"}}"#)
        #expect(
            try edited(#"{"apns.privateKey": "s"}"#, ("apns.privateKeyFile", #""f""#))
                == #"{"apns.privateKeyFile": "f"}"#)
    }

    @Test("Anything but an object is left for the operator to correct", arguments: ["[]", "{", #"{"apns": 3}"#])
    func unsuitable(text: String) {
        #expect(throws: ConfigurationEdit.Unsuitable.self) { try edited(text, ("apns.teamId", #""T""#)) }
    }
}
