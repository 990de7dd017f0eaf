import FoundationEssentials

/// The section `sealing` of a configuration's text, which `syncctl keys rotate` rewrites; the rest of the text stays
/// unchanged.
public struct SealingSection: Equatable, Sendable {
    /// The value in the file: an absolute path, or a name below the folder of secrets.
    public var keyFile: String
    public var formerKeyFiles: [String]
    public var nextKeyFile: String?

    private static let name = "sealing"

    /// Why the section can only be changed by hand.
    public typealias Unsuitable = ConfigurationEdit.Unsuitable

    /// The section of a text that the server accepts.
    /// - Throws: ``Unsuitable`` if the key is in the file itself, or the settings are written with dots.
    public init(of text: String) throws(Unsuitable) {
        let members = try ConfigurationEdit.rootMembers(of: text)
        let dotted = members.first { $0.name.hasPrefix(Self.name + ".") }
        if let dotted {
            throw Unsuitable(
                description:
                    "\(dotted.place): \(dotted.name) must be a member of an object \"\(Self.name)\" before keys can be "
                    + "rotated by this command")
        }
        keyFile = SettingsReader.sealingKeyFile
        formerKeyFiles = []
        guard let section = members.first(where: { $0.name == Self.name }),
            case .object(let settings) = section.value.value
        else { return }
        for setting in settings {
            switch (setting.name, setting.value.value) {
            case ("keyFile", .string(let file)): keyFile = file
            case ("nextKeyFile", .string(let file)): nextKeyFile = file
            case ("formerKeyFiles", .array(let files)):
                formerKeyFiles = files.compactMap { if case .string(let file) = $0.value { file } else { nil } }
            case (_, .null): break
            default:
                throw Unsuitable(
                    description:
                        "\(setting.place): \(Self.name).\(setting.name) must be moved into a separate file, named "
                        + "by sealing.keyFile, before keys can be rotated")
            }
        }
    }

    /// `text` with this section in place of its own.
    /// - Throws: ``Unsuitable``.
    public func replacing(in text: String) throws(Unsuitable) -> String {
        let members = try ConfigurationEdit.rootMembers(of: text)
        var scalars = Array(text.unicodeScalars)
        if let section = members.first(where: { $0.name == Self.name }) {
            let old = scalars[section.value.extent]
            // A section on one line stays on one line.
            let indentation = old.contains("\n") ? section.place.column - 1 : nil
            scalars.replaceSubrange(section.value.extent, with: rendered(indentation).unicodeScalars)
        } else {
            guard let brace = scalars.firstIndex(of: "{") else { return text }
            let column = members.first.map { $0.place.column - 1 } ?? 2
            let separator = members.isEmpty ? "\n" : ","
            let member =
                "\n" + String(repeating: " ", count: column) + "\"\(Self.name)\": \(rendered(column))\(separator)"
            scalars.insert(contentsOf: member.unicodeScalars, at: brace + 1)
        }
        var result = String.UnicodeScalarView()
        result.append(contentsOf: scalars)
        return String(result)
    }

    /// - Parameter indentation: the spaces before the section's name; `nil`: all on one line.
    private func rendered(_ indentation: Int?) -> String {
        var settings = ["\"keyFile\": \(Self.json(keyFile))"]
        if let nextKeyFile { settings.append("\"nextKeyFile\": \(Self.json(nextKeyFile))") }
        if !formerKeyFiles.isEmpty {
            settings.append("\"formerKeyFiles\": [\(formerKeyFiles.map(Self.json).joined(separator: ", "))]")
        }
        guard let indentation else { return "{\(settings.joined(separator: ", "))}" }
        let outer = "\n" + String(repeating: " ", count: indentation)
        return "{" + settings.map { outer + "  " + $0 }.joined(separator: ",") + outer + "}"
    }

    private static func json(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // A text can always be encoded.
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
