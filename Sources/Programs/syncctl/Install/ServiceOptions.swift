import ArgumentParser
import Operations
import Providers

/// The options of `syncctl setup` for the settings of companies' services. The companies describe them
/// (``SetupOption``).
///
/// swift-argument-parser finds a type's options in the mirror of a new instance, and decodes their values by the names
/// in this mirror. Here both come from the companies instead of stored properties.
struct ServiceOptions: ParsableArguments, CustomReflectable {
    /// The given values, by the keys of their settings; more than one only for a list.
    private var values: [String: [String]] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        for (setting, question, option) in Self.all {
            let name = Name(stringValue: option.name)
            if question.answer == .list {
                let given = try container.decode(Option<[String]>.self, forKey: name).wrappedValue
                values[setting.key] = given.isEmpty ? nil : given
            } else {
                let given = try container.decode(Option<String?>.self, forKey: name).wrappedValue
                values[setting.key] = given.map { [$0] }
            }
        }
    }

    var customMirror: Mirror {
        let children = Self.all.map { _, question, option -> Mirror.Child in
            let name = NameSpecification.customLong(option.name)
            let help = ArgumentHelp(option.help, valueName: option.valueName)
            let definition: Any =
                switch question.answer {
                case .typed: Option<String?>(name: name, help: help)
                case .list: Option<[String]>(wrappedValue: [], name: name, help: help)
                case .hidden, .file: Option<String?>(name: name, help: help, completion: .file())
                }
            return (label: option.name, value: definition)
        }
        return Mirror(self, children: children)
    }

    func validate() throws {
        for service in Self.services {
            let ids = service.filter { $0.setting.isRequired && !$0.setting.isSecret }
            let given = ids.filter { values[$0.setting.key] != nil }
            guard given.isEmpty || given.count == ids.count else {
                let names = ids.map { "--" + $0.option.name }
                throw ValidationError(
                    names.dropLast().joined(separator: ", ") + " and \(names.last ?? "") must be given together.")
            }
            let hasSecret = service.contains { $0.setting.isSecret && values[$0.setting.key] != nil }
            guard !hasSecret || !given.isEmpty || ids.isEmpty else {
                throw ValidationError("A secret was given without its id.")
            }
        }
    }

    /// Whether no option was given.
    var isEmpty: Bool { values.isEmpty }

    /// The answers, by the keys of their settings.
    var answers: [String: SetupAnswers.Answer] {
        var answers: [String: SetupAnswers.Answer] = [:]
        for (setting, question, option) in Self.all {
            guard let given = values[setting.key], let text = given.first else { continue }
            answers[setting.key] =
                question.answer == .list
                ? .list(given)
                : SetupAnswers.Answer(text, to: question, givenBy: "--\(option.name) (\(setting.key))")
        }
        return answers
    }

    /// The options with their dashes, by the keys of their settings.
    static let names = Dictionary(uniqueKeysWithValues: all.map { ($0.setting.key, "--" + $0.option.name) })

    private typealias Described = (setting: Setting, question: SetupQuestion, option: SetupOption)

    /// The settings of each service that have an option.
    private static let services: [[Described]] = LastSetup.offers.map { offer in
        offer.settings.compactMap { setting -> Described? in
            guard let question = setting.question, let option = question.option else { return nil }
            return (setting, question, option)
        }
    }

    private static let all: [Described] = Array(services.joined())

    /// The name of an option as a key of the decoder.
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
